package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
)

// clientLog is what go-redis itself logs, in all tests of the package; its logger
// is the process's, so TestMain sets it.
var clientLog log

// Printf implements the logger of go-redis.
func (l *log) Printf(_ context.Context, format string, v ...any) {
	_, _ = fmt.Fprintf(l, format+"\n", v...)
}

// echo answers like servers and proxies that repeat what they do not understand,
// passwords included.
func echo(args []string) string {
	return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: '%s'\r\n", args[0], strings.Join(args[1:], "' '"))
}

// Whatever goes wrong, the password is in no error and in no log.
func TestSecretsStayOutOfErrorsAndLogs(t *testing.T) {
	locked := redistest.Start(t, redistest.Password("another"))
	open := redistest.Start(t, redistest.Password(secret))
	down := redistest.Start(t, redistest.Password(secret))
	require.NoError(t, down.Kill())
	hung := redistest.Start(t, redistest.Password(secret))
	require.NoError(t, hung.Pause())
	poor := redistest.Start(t, redistest.Password(secret))
	require.NoError(t, poor.Client(t).Do(t.Context(), "acl", "setuser", "poor", "reset", "on", ">"+secret, "~*", "+ping").Err())
	echoing := startFake(t, echo)
	nonsense := startFake(t, scripted("+what\r\n"))

	for name, addr := range map[string]string{
		"wrong password": locked.Addr(), "refused": down.Addr(), "hung": hung.Addr(), "good": open.Addr(),
		"rights": "poor@" + poor.Addr(), "repeats it": echoing.addr(), "nonsense": nonsense.addr(), "no such host": "no-such-host.invalid:1",
	} {
		t.Run(name, func(t *testing.T) {
			user := ""
			if u, rest, ok := strings.Cut(addr, "@"); ok {
				user, addr = u, rest
			}
			var l log
			opened := openURL(t, "redis://"+user+":"+secret+"@"+addr+"?max_retries=1", l.option())
			given := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: secret, MaxRetries: 1, DialTimeout: time.Second})
			defer given.Close()
			for _, s := range []*Store{opened, New(given, l.option())} {
				for _, err := range provoke(t, s, &l) {
					for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%q", err)} {
						require.NotContains(t, text, secret)
					}
				}
			}
			require.Zero(t, l.count(secret), l.String())
		})
	}
	require.Zero(t, clientLog.count(secret))
}

// provoke does all that a manager can do, for a short while, and returns the errors.
func provoke(t *testing.T, s *Store, l *log) (errs []error) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, err := actorlock.New(actorlock.Config{Store: s, Logger: logger})
	require.NoError(t, err)
	ctx := brief(t, 300*time.Millisecond)
	note := func(err error) { errs = append(errs, err) }
	defer s.Watch("key", func(string) {})()
	note(m.WithLock(ctx, "key", func(ctx context.Context) error {
		lock, err := m.Acquire(context.Background(), "key", actorlock.RetryAttempts(1), actorlock.RetryDelay(time.Millisecond))
		note(err)
		if err == nil {
			note(lock.Release(ctx))
		}
		return nil
	}, actorlock.RetryAttempts(2), actorlock.RetryDelay(20*time.Millisecond)))
	_, err = m.Inspect(brief(t, 200*time.Millisecond), "key")
	note(err)
	note(m.Shutdown(brief(t, time.Second)))
	note(m.WithLock(brief(t, time.Millisecond), "key", func(context.Context) error { return nil }))
	return errs
}
