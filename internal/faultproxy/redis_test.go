package faultproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
)

const patience = 5 * time.Second

// soon waits for something to come out of ch.
func soon[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing has happened")
		panic("unreachable")
	}
}

// through is a client that reaches its server over the proxy.
func through(t *testing.T, p *faultproxy.Proxy) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr:                     p.Addr(),
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRedisExecutesTheCommandWhoseReplyIsLost(t *testing.T) {
	s := redistest.Start(t)
	p := faultproxy.New(t, s.Addr())
	lost := p.DropReplyOf(faultproxy.Containing("set"), 1)

	require.Error(t, through(t, p).Set(t.Context(), "k", "v", 0).Err())
	soon(t, lost)
	require.Equal(t, "v", s.Client(t).Get(t.Context(), "k").Val())
}

func TestRedisExecutesTheCommandOfAClientThatGaveUp(t *testing.T) {
	s := redistest.Start(t)
	p := faultproxy.New(t, s.Addr())
	observer, c := s.Client(t), through(t, p)
	held := p.StallRequestOf(faultproxy.Containing("set"), 1, 300*time.Millisecond)

	failed := make(chan error, 1)
	go func() { failed <- c.Set(t.Context(), "k", "late", 0).Err() }()
	soon(t, held)
	require.NoError(t, c.Close())
	require.Error(t, soon(t, failed))
	require.ErrorIs(t, observer.Get(t.Context(), "k").Err(), redis.Nil)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, p.AwaitStalled(ctx))
	require.Equal(t, "late", observer.Get(t.Context(), "k").Val())
}

func TestDeathOfTheServerReachesTheClient(t *testing.T) {
	s := redistest.Start(t)
	p := faultproxy.New(t, s.Addr())
	c := through(t, p)
	require.NoError(t, c.Ping(t.Context()).Err())
	require.NoError(t, s.Restart())
	require.Eventually(t, func() bool { return p.Connections() == 0 }, patience, time.Millisecond)
	require.NoError(t, through(t, p).Ping(t.Context()).Err())
}
