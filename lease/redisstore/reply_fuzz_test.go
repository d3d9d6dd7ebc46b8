package redisstore

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// Replies of a server that is broken, hostile, or no Redis at all.
func FuzzReply(f *testing.F) {
	for _, reply := range []string{
		":1\r\n", ":0\r\n", ":2\r\n", ":3\r\n", ":-1\r\n", ":-2\r\n", ":9223372036854775807\r\n", ":-9223372036854775808\r\n",
		":99999999999999999999\r\n", ":\r\n", ":one\r\n", ":1", "+OK\r\n", "+1\r\n", "$1\r\n1\r\n", "$-1\r\n", "$0\r\n\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n$6\r\nholder\r\n:500\r\n", "*2\r\n$6\r\nholder\r\n:-1\r\n", "*2\r\n$6\r\nholder\r\n:9223372036854775807\r\n",
		"*2\r\n:1\r\n:1\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n*-1\r\n*-1\r\n", "*1\r\n:1\r\n", "*3\r\n:1\r\n:1\r\n:1\r\n",
		"-ERR no\r\n", "-\r\n", "-WRONGTYPE not a string\r\n", "-NOSCRIPT none\r\n", "-LOADING soon\r\n", "-MOVED 1 127.0.0.1:1\r\n",
		"-ASK 1 x\r\n", "-BUSY script\r\n", "-OOM full\r\n", "-NOAUTH no\r\n", "-NOPERM no\r\n", "-READONLY\r\n", "-ERR @user_script: 1: -\r\n",
		"$1000000000\r\nshort", "$536870912000\r\n", "*1000000000\r\n:1\r\n", "$-5\r\n", "*-5\r\n", "*99999999999\r\n",
		"%1\r\n+k\r\n:1\r\n", "~1\r\n:1\r\n", ",1.5\r\n", ",nan\r\n", "#t\r\n", "(12345678901234567890\r\n", "_\r\n", "=5\r\ntxt:a\r\n",
		"!5\r\nERR x\r\n", ">1\r\n:1\r\n", ">2\r\n$7\r\nmessage\r\n:1\r\n", "|1\r\n+a\r\n+b\r\n:1\r\n", strings.Repeat("*1\r\n", 1000) + ":1\r\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n", "\x00\x01\x02", "", ":1\r\n:1\r\n:1\r\n", "?\r\n", strings.Repeat("x", 100_000),
	} {
		f.Add(reply)
	}
	integer := regexp.MustCompile(`(^|\n):[+-]?[0-9]+\r\n`) // an attribute may come before
	f.Fuzz(func(t *testing.T, reply string) {
		if greedy(reply) {
			t.Skip("the client would set aside what the reply announces")
		}
		server := startFake(t, scripted(reply))
		server.hangsUp = true // no waiting for the rest of a reply
		s, err := Open("redis://"+server.addr(), Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		defer server.close() // ends commands that still wait for more

		at, err := s.Acquire(glance(t), lease.Acquisition{Key: "key", Value: "a/1", TTL: long, Fence: true})
		if at.Acquired {
			require.NoError(t, err)
			require.Regexp(t, integer, reply, "no other reply grants a lock")
		}
		require.LessOrEqual(t, at.TTL, maxDuration)
		require.GreaterOrEqual(t, at.TTL, lease.NoExpiry)

		for name, err := range map[string]error{
			"extend":  once(t, s.Extend, lease.Extension{Key: "key", Value: "a/1", TTL: long}),
			"release": once(t, s.Release, lease.Release{Key: "key", Value: "a/1", Certain: true, Used: 1, Reserved: 2}),
		} {
			if err == nil && name == "extend" {
				require.Regexp(t, integer, reply)
			}
			if lease.IsLoss(err) {
				require.Regexp(t, integer, reply, "no other reply takes a lock away")
			}
		}
		_, err = s.Reserve(glance(t), lease.Reservation{Key: "key", Value: "a/1", Tokens: 4})
		if err == nil {
			require.Regexp(t, integer, reply)
		}
		state, err := s.Inspect(glance(t), "key")
		if err == nil && state.Held {
			require.GreaterOrEqual(t, state.TTL, lease.NoExpiry)
		}
		_, _ = s.Contended(glance(t), "key", "a")
	})
}

const maxDuration = time.Duration(1<<63 - 1)

// greedy says whether a reply announces a size that go-redis would allocate
// before anything has come.
var greedy = func() func(string) bool {
	size := regexp.MustCompile(`[$*%~>|=!][0-9]{8,}`)
	return func(reply string) bool { return size.MatchString(reply) }
}()

// glance is a context for one command. When it is too short, a reply is not
// seen, and nothing is found out.
func glance(t *testing.T) context.Context { return brief(t, 20*time.Millisecond) }

// once executes one item of a batch, which must be settled once.
func once[T any](t *testing.T, do func(context.Context, []T, func(int, error)), item T) (verdict error) {
	reports := 0
	do(glance(t), []T{item}, func(i int, err error) {
		require.Zero(t, i)
		reports++
		verdict = err
	})
	require.Equal(t, 1, reports)
	return verdict
}
