package redisstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/leasetest"
)

func TestConformance(t *testing.T) {
	server := redistest.Start(t)
	leasetest.Exercise(t, func(t *testing.T) lease.Store { return open(t, server) })
}

// open is a store on a server, closed at the end of the test.
func open(t *testing.T, server *redistest.Server, opts ...Option) *Store {
	t.Helper()
	return openURL(t, "redis://"+server.Addr(), opts...)
}

func openURL(t *testing.T, url string, opts ...Option) *Store {
	t.Helper()
	s, err := Open(url, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
