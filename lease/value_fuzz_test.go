package lease_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// A value found in a store is anybody's.
func FuzzHolder(f *testing.F) {
	for _, value := range []string{
		"", "/", "//", "node/1", "a/b/c", "no slash", "\x00/\xff", "node/", "{\"json\": \"a/b\"}",
		strings.Repeat("n", 300) + "/1", strings.Repeat("/", 1000), "é/\u202e", "%s%n/1",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		holder := lease.Holder(value)
		require.LessOrEqual(t, len(holder), 256)
		require.True(t, strings.HasPrefix(value, holder))
		node, _, found := cutLast(value)
		switch {
		case !found:
			require.Empty(t, holder)
		case len(node) <= 256:
			require.Equal(t, node, holder)
		}
		// Whatever a node is called, its own values name it.
		own := lease.NewValue(value)
		require.True(t, strings.HasPrefix(lease.Holder(own), value[:min(len(value), 256)]))
		// Nothing of it can end a line of a log.
		text := (&lease.AcquireError{Key: value, Holder: holder, Err: lease.ErrHeld}).Error()
		require.NotContains(t, text, "\n")
	})
}

// cutLast is strings.Cut at the last slash.
func cutLast(s string) (before, after string, found bool) {
	parts := strings.Split(s, "/")
	last := len(parts) - 1
	return strings.Join(parts[:last], "/"), parts[last], last > 0
}
