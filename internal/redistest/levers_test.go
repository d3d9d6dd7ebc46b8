//go:build unix

package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestPauseAndResume(t *testing.T) {
	s := Start(t)
	c := s.Client(t)
	require.NoError(t, c.Ping(t.Context()).Err())

	require.NoError(t, s.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Error(t, c.Set(ctx, "k", "late", 0).Err(), "paused")

	require.NoError(t, s.Resume())
	require.NoError(t, s.Resume(), "again")
	require.Equal(t, "late", c.Get(t.Context(), "k").Val(), "the request was waiting in the socket")
}

func TestKillAndRestart(t *testing.T) {
	for name, opts := range map[string][]Option{"memory": nil, "persistent": {Persist()}} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, opts...)
			c := s.Client(t)
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
			addr, pid := s.Addr(), s.Pid()

			require.NoError(t, s.Kill())
			require.NoError(t, s.Kill(), "again")
			require.Zero(t, s.Pid())
			require.Error(t, c.Ping(t.Context()).Err())
			require.NoError(t, s.Resume(), "nothing to resume")

			require.NoError(t, s.Restart())
			require.Equal(t, addr, s.Addr())
			require.NotEqual(t, pid, s.Pid())
			err := s.Client(t).Get(t.Context(), "k").Err()
			if opts == nil {
				require.ErrorIs(t, err, redis.Nil)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestRestartOfPausedServer(t *testing.T) {
	s := Start(t)
	pid := s.Pid()
	require.NoError(t, s.Pause())

	require.NoError(t, s.Restart())
	require.NotEqual(t, pid, s.Pid())
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
}

func TestPausedServerEndsWithItsTest(t *testing.T) {
	var s *Server
	t.Run("paused", func(t *testing.T) {
		s = Start(t)
		require.NoError(t, s.Pause())
	})
	require.Zero(t, s.Pid())
}

func TestPauseOfDeadServerFails(t *testing.T) {
	s, err := Run()
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Kill())
	require.ErrorIs(t, s.Pause(), errDown)
}
