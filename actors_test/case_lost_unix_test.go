//go:build unix

package actors_test

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The holder's process stands still for longer than its TTL.
func TestCase_B005(t *testing.T) {
	t.Parallel()
	const ttl = 600 * time.Millisecond
	srv := redisServer(t)
	look := srv.Client(t)
	sleeper := spawn(t, "hold", srv.Addr(), "k", ttl.String())
	token, err := strconv.ParseUint(sleeper.hear("held"), 10, 64)
	require.NoError(t, err)
	wake := time.NewTimer(3 * ttl)
	require.NoError(t, sleeper.cmd.Process.Signal(syscall.SIGSTOP))

	second := holding(t, t.Context(), redisManager(t, srv, retryForever), "k")
	require.Greater(t, second.token(), token)
	value := look.Get(t.Context(), "k").Val()
	<-wake.C
	require.NoError(t, sleeper.cmd.Process.Signal(syscall.SIGCONT))
	woken := time.Now()
	require.Contains(t, sleeper.hear("ended"), "lost")
	sleeper.hear("done") // who waits for the end is told as well
	require.Less(t, time.Since(woken), 5*time.Second)
	require.Contains(t, sleeper.hear("returned"), "lost")
	sleeper.exits()
	require.NotContains(t, sleeper.heard, "blind", "the first look sees the loss")
	require.Equal(t, value, look.Get(t.Context(), "k").Val())
	require.NoError(t, second.ctx.Err())
	second.release()
}
