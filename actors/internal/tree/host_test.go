package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A job that was given stays until it is taken, whatever is offered meanwhile.
func TestHostKeepsWhatItWasGiven(t *testing.T) {
	var h Host
	j := new(Job)
	require.False(t, h.give(j), "nothing is on offer")
	h.Lend()
	h.Keep()
	require.False(t, h.give(j), "withdrawn")
	h.Lend()
	require.True(t, h.give(j))
	h.Lend()
	h.Keep()
	require.False(t, h.Lent())
	require.Same(t, j, h.Take())
	require.Nil(t, h.Take())
}
