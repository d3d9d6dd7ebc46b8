package redisstore

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease"
)

// manager makes one on a fake server.
func manager(t *testing.T, f *fake) *actorlock.Manager {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	m, err := actorlock.New(actorlock.Config{Store: openURL(t, "redis://"+f.addr(), Logger(quiet)), Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) }) // it may have to leave a key whose fate is not known
	return m
}

// A server that fails at once is not asked in a loop: attempts keep their
// distance, and each costs a bounded number of commands and connections.
func TestErrorsAtOnceAreNoLoop(t *testing.T) {
	const retries, delay = 5, 40 * time.Millisecond
	for name, test := range map[string]struct {
		reply string
		sends int // of one attempt, at most
	}{
		"error":       {"-ERR no\r\n", 1},
		"loading":     {"-LOADING soon\r\n", 1 + resends},
		"not known":   {"-NOSCRIPT never\r\n", 1},
		"nonsense":    {"+what\r\n", 1},
		"no protocol": {"HTTP/1.1 400 Bad Request\r\n\r\n", 1 + resends},
		"hangs up":    {"", 1 + resends},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, scripted(test.reply))
			m := manager(t, f)
			began := time.Now()
			err := m.WithLock(t.Context(), "key", never(t),
				actorlock.RetryAttempts(retries), actorlock.RetryDelay(delay))
			var refused *actorlock.AcquireError
			require.ErrorAs(t, err, &refused)
			require.NotErrorIs(t, err, lease.ErrHeld)
			require.Equal(t, retries+1, refused.Attempts)
			require.GreaterOrEqual(t, time.Since(began), retries*delay*9/10, "a delay is shortened by a tenth at most")
			attempts, _ := f.seen("evalsha " + acquireScript.sha)
			require.Positive(t, attempts)
			require.LessOrEqual(t, attempts, (retries+1)*test.sends)
			// Beside them, attempts spelt out and releases of what may have been taken.
			sends, connections := f.seen("evalsha")
			spelt, _ := f.seen("eval")
			subscribed, _ := f.seen("subscribe")
			require.LessOrEqual(t, sends+spelt, 4*(retries+1)*(1+resends))
			require.LessOrEqual(t, subscribed, 6, "its pauses grow")
			require.LessOrEqual(t, connections, 2*(sends+spelt)+subscribed+2)
		})
	}
}

// Errors that cannot pass end the call with its first attempt.
func TestErrorsThatStayEndTheCall(t *testing.T) {
	for _, reply := range []string{"-NOAUTH no\r\n", "-WRONGPASS no\r\n", "-NOPERM no\r\n", "-WRONGTYPE no\r\n"} {
		f := startFake(t, scripted(reply))
		err := manager(t, f).WithLock(t.Context(), "key", never(t), actorlock.RetryAttempts(actorlock.RetryForever))
		require.Equal(t, lease.Permanent, kindOf(t, err))
		sends, _ := f.seen("evalsha " + acquireScript.sha)
		require.Equal(t, 1, sends)
	}
}

// A lease whose extensions fail at once is tried again with pauses, until its
// deadline.
func TestFailingExtensionsAreNoLoop(t *testing.T) {
	f := startFake(t, func(args []string) string {
		if args[0] == "evalsha" && args[1] == acquireScript.sha {
			return ":7\r\n"
		}
		return scripted("-ERR no\r\n")(args)
	})
	const ttl = 400 * time.Millisecond
	err := manager(t, f).WithLock(t.Context(), "key", func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}, actorlock.TTL(ttl), actorlock.OnRedisError(actorlock.RetryUntilDeadline), actorlock.AwaitCallback())
	var lost *actorlock.LockLostError
	require.ErrorAs(t, err, &lost)
	sends, _ := f.seen("evalsha " + extendScript.sha)
	require.Positive(t, sends)
	require.LessOrEqual(t, sends, 60, "in %v", ttl)
}

// A server that always says that somebody else has the lock.
func TestHeldByAStranger(t *testing.T) {
	f := startFake(t, scripted("*2\r\n$8\r\nstranger\r\n:50\r\n"))
	err := manager(t, f).WithLock(t.Context(), "key", never(t), actorlock.RetryAttempts(2), actorlock.RetryDelay(10*time.Millisecond))
	var refused *actorlock.AcquireError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, actorlock.ErrHeld)
	require.Equal(t, "stranger", refused.Holder)
}

func never(t *testing.T) func(context.Context) error {
	return func(context.Context) error {
		t.Error("the callback was run")
		return nil
	}
}
