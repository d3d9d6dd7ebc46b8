package redisstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

// hostileTexts are keys and values that have broken programs.
var hostileTexts = []string{
	"", " ", "key", "a b", "{", "}", "{}", "}{", "{}x", "{a}b", "a{b", "a}b", "{{a}}", "\x00", "\xff\xfe", "\r\n", "*1\r\n$8\r\nFLUSHALL\r\n",
	"'", "\"", "\\", "%s%d%n", "key:actorlock-fence", "{key}:actorlock-Fence", "{key}:actorlock-Wait", "actorlock:wake:key", "é\u202e\u0000",
	"node/1", "/", "a/b/c", "nan", "1e3", "-1", "0", "9007199254740993", "*", "?", "[a-z]", "return redis.call('FLUSHALL')", "]]--",
	strings.Repeat("k", 70_000), strings.Repeat("{", 500), strings.Repeat("/", 500),
}

// Names beside a key share its slot, and are no other key's.
func FuzzNamesBeside(f *testing.F) {
	for i, key := range hostileTexts {
		f.Add(key, hostileTexts[(i+1)%len(hostileTexts)])
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		if key == "" || other == "" {
			return // refused before
		}
		names := []string{key, fenceKey(key), markKey(key)}
		for i, name := range names {
			require.Equal(t, slotOf(key), slotOf(name))
			for _, later := range names[i+1:] {
				require.NotEqual(t, name, later)
			}
		}
		if key != other {
			require.NotEqual(t, fenceKey(key), fenceKey(other))
			require.NotEqual(t, markKey(key), markKey(other))
			require.NotEqual(t, fenceKey(key), markKey(other))
		}
	})
}

// Whatever a key is called and whoever's value stands in it, it is left alone,
// and who has it is read the same by the scripts and by the package lease.
func FuzzForeignValue(f *testing.F) {
	for i, key := range hostileTexts {
		f.Add(key, hostileTexts[len(hostileTexts)-1-i], hostileTexts[(i+7)%len(hostileTexts)])
	}
	server := redistest.Start(f)
	c := server.Client(f)
	s, err := Open(server.URL())
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, s.Close()) })
	f.Fuzz(func(t *testing.T, key, value, token string) {
		ctx := t.Context()
		require.NoError(t, c.FlushAll(ctx).Err())
		a := lease.Acquisition{Key: key, Value: "us/1", TTL: long, Fence: true, Origin: "us", Mark: long}
		if key == "" {
			_, err := s.Acquire(ctx, a)
			require.ErrorIs(t, err, lease.ErrInvalidConfig)
			return
		}
		require.NoError(t, c.Set(ctx, key, value, 0).Err())
		require.NoError(t, c.Set(ctx, fenceKey(key), token, 0).Err())
		if value != a.Value {
			at, err := s.Acquire(ctx, a)
			require.NoError(t, err)
			require.Equal(t, lease.Attempt{Holder: lease.Holder(value), TTL: lease.NoExpiry}, at)
			state, err := s.Inspect(ctx, key)
			require.NoError(t, err)
			require.Equal(t, lease.State{Held: true, Holder: lease.Holder(value), TTL: lease.NoExpiry}, state)
			require.ErrorIs(t, extend(ctx, s, lease.Extension{Key: key, Value: a.Value, TTL: long}), lease.ErrLeaseTaken)
			require.ErrorIs(t, release(ctx, s, lease.Release{Key: key, Value: a.Value}), lease.ErrLeaseTaken)
		}
		require.Equal(t, value, c.Get(ctx, key).Val())
		require.Equal(t, token, c.Get(ctx, fenceKey(key)).Val())

		// Free, beside a foreign token.
		require.NoError(t, c.Del(ctx, key).Err())
		at, err := s.Acquire(ctx, a)
		require.NoError(t, err)
		require.True(t, at.Acquired)
		require.Positive(t, at.Token)
		if at.ForeignKey {
			require.Equal(t, token, c.Get(ctx, fenceKey(key)).Val())
		}
		require.NoError(t, release(ctx, s, lease.Release{Key: key, Value: a.Value, Certain: true}))
		require.Zero(t, c.Exists(ctx, key).Val())
	})
}
