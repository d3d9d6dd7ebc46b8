package redisstore

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

func splitAddr(t *testing.T, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return host, port
}

// Value and expiry are one atomic step, and nothing but declared keys is used.
func TestAcquireIsOneSet(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	first, _ := take(t, s, "warm-up") // connections are made, and scripts are cached
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: "warm-up", Value: first, TTL: long}))
	require.NoError(t, release(t.Context(), s, lease.Release{Key: "warm-up", Value: first}))
	m := server.Monitor(t)

	value, _ := take(t, s, "key")
	require.False(t, try(t, s, "key", "other/1").Acquired)
	require.True(t, try(t, s, "key", value).Acquired)
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: "key", Value: value, TTL: long}))
	require.NoError(t, release(t.Context(), s, lease.Release{Key: "key", Value: value}))

	var sets []string
	for _, line := range m.Lines() {
		if strings.Contains(line, ` lua] "SET" "key"`) {
			sets = append(sets, line)
		}
		for _, touched := range regexp.MustCompile(`lua\] "(?:MGET|GET|SET|DEL|PEXPIRE|PTTL|EXISTS)" "([^"]*)"`).FindAllStringSubmatch(line, -1) {
			require.Contains(t, []string{"key", fenceKey("key")}, touched[1], line)
		}
	}
	require.Len(t, sets, 1)
	require.Contains(t, sets[0], fmt.Sprintf(`"SET" "key" %q "NX" "PX" "60000"`, value))
	require.Len(t, m.ClientLines(), 5, "one command for each call")
	for _, line := range m.ClientLines()[:3] {
		require.Contains(t, line, fmt.Sprintf(`"2" "key" %q`, fenceKey("key")), "lock and fence")
	}
	for _, line := range m.ClientLines()[3:] {
		require.Contains(t, line, `"1" "key"`, "the lock alone")
	}
}

func TestAcquireWithoutFencing(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	at, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.NoError(t, err)
	require.Equal(t, lease.Attempt{Acquired: true}, at)
	require.Equal(t, []string{"key"}, server.Client(t).Keys(t.Context(), "*").Val())
}

func TestExpiries(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	for _, ttl := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, time.Hour, lease.MaxTTL} {
		key := ttl.String()
		at, err := s.Acquire(t.Context(), lease.Acquisition{Key: key, Value: "a/1", TTL: ttl, Fence: true})
		require.NoError(t, err)
		require.True(t, at.Acquired)
		left := c.PTTL(t.Context(), key).Val()
		require.LessOrEqual(t, left, ttl)
		require.Greater(t, left, ttl-ttl/20-50*time.Millisecond)
		left = c.PTTL(t.Context(), fenceKey(key)).Val()
		require.LessOrEqual(t, left, ttl+time.Hour)
		require.Greater(t, left, ttl+59*time.Minute)
	}
	for _, ttl := range []time.Duration{0, -1, time.Millisecond - 1, lease.MaxTTL + 1} {
		_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "bad", Value: "a/1", TTL: ttl})
		require.ErrorIs(t, err, lease.ErrInvalidConfig)
		require.ErrorIs(t, extend(t.Context(), s, lease.Extension{Key: "bad", Value: "a/1", TTL: ttl}), lease.ErrInvalidConfig)
	}
}

func TestForeignLock(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	huge := strings.Repeat("n", 300) + "/" + strings.Repeat("x", 1<<20)
	for key, value := range map[string]string{"empty": "", "garbage": "\x00/\xff/\n", "number": "17", "huge": huge} {
		require.NoError(t, c.Set(t.Context(), key, value, 0).Err())
		at := try(t, s, key, "a/1")
		require.False(t, at.Acquired)
		require.Equal(t, lease.NoExpiry, at.TTL)
		require.Equal(t, lease.Holder(value), at.Holder)
		state, err := s.Inspect(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, lease.State{Held: true, Holder: at.Holder, TTL: lease.NoExpiry}, state)
		require.Equal(t, value, c.Get(t.Context(), key).Val())
		require.Zero(t, c.Exists(t.Context(), fenceKey(key)).Val(), "an attempt that fails mints nothing")
	}
}

func TestLockOfAnotherType(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	require.NoError(t, c.HSet(t.Context(), "hash", "field", "x").Err())

	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "hash", Value: "a/1", TTL: long, Fence: true})
	require.Equal(t, lease.Permanent, kindOf(t, err))
	require.ErrorContains(t, err, "WRONGTYPE")
	_, err = s.Inspect(t.Context(), "hash")
	require.Equal(t, lease.Permanent, kindOf(t, err))
	require.ErrorIs(t, extend(t.Context(), s, lease.Extension{Key: "hash", Value: "a/1", TTL: long}), lease.ErrLeaseTaken)
	require.ErrorIs(t, release(t.Context(), s, lease.Release{Key: "hash", Value: "a/1"}), lease.ErrLeaseTaken)
	_, err = s.Reserve(t.Context(), lease.Reservation{Key: "hash", Value: "a/1", Tokens: 1})
	require.ErrorIs(t, err, lease.ErrLeaseTaken)
	require.Equal(t, "x", c.HGet(t.Context(), "hash", "field").Val())
	require.Equal(t, time.Duration(-1), c.PTTL(t.Context(), "hash").Val())
}

// What stands in the place of the tokens and is none is left alone.
func TestForeignFence(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	for i, foreign := range []string{"garbage", "", "-5", "0", "1e3", "0x10", " 7", "007", "1.5", "inf", "nan", "9007199254740992", "99999999999999999999"} {
		key := "key" + strconv.Itoa(i)
		require.NoError(t, c.Set(t.Context(), fenceKey(key), foreign, 0).Err())
		value, token := foreignLock(t, s, key)
		require.Equal(t, foreign, c.Get(t.Context(), fenceKey(key)).Val())
		_, err := s.Reserve(t.Context(), lease.Reservation{Key: key, Value: value, Tokens: 4, TTL: long})
		require.ErrorIs(t, err, lease.ErrNoTokens)
		at := try(t, s, key, value)
		require.True(t, at.Acquired && at.ForeignKey)
		require.Greater(t, at.Token, token)
		require.NoError(t, release(t.Context(), s, lease.Release{Key: key, Value: value, Certain: true}))
		require.Equal(t, foreign, c.Get(t.Context(), fenceKey(key)).Val())
	}
	require.NoError(t, c.RPush(t.Context(), fenceKey("list"), "x").Err())
	value, _ := foreignLock(t, s, "list")
	_, err := s.Reserve(t.Context(), lease.Reservation{Key: "list", Value: value, Tokens: 4})
	require.ErrorIs(t, err, lease.ErrNoTokens)
	// Giving back a block there fails, and the release does not care.
	require.NoError(t, release(t.Context(), s, lease.Release{Key: "list", Value: value, Used: 1, Reserved: 2}))
	require.Equal(t, []string{"x"}, c.LRange(t.Context(), fenceKey("list"), 0, -1).Val())
}

func foreignLock(t *testing.T, s *Store, key string) (value string, token uint64) {
	t.Helper()
	before := uint64(time.Now().Add(-time.Minute).UnixMicro())
	value = lease.NewValue("node")
	at := try(t, s, key, value)
	require.True(t, at.Acquired)
	require.True(t, at.ForeignKey)
	require.Greater(t, at.Token, before, "from the clock")
	return value, at.Token
}

func TestTokens(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	// A token that is ahead of the clock: the next is one above it.
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	require.NoError(t, c.Set(t.Context(), fenceKey("key"), ahead, time.Minute).Err())
	value, token := take(t, s, "key")
	require.Equal(t, ahead+1, token)
	require.Equal(t, token, storedToken(t, server, "key"))

	// Once stored, the same value gets the same token; if it is lost, a new one.
	require.Equal(t, token, try(t, s, "key", value).Token)
	require.NoError(t, c.Del(t.Context(), fenceKey("key")).Err())
	again := try(t, s, "key", value).Token
	require.Equal(t, again, storedToken(t, server, "key"))

	first, err := s.Reserve(t.Context(), lease.Reservation{Key: "key", Value: value, Tokens: 16})
	require.NoError(t, err)
	require.Greater(t, first, again)
	require.Equal(t, first+15, storedToken(t, server, "key"))
	require.NoError(t, release(t.Context(), s, lease.Release{Key: "key", Value: value, Certain: true, Used: first + 2, Reserved: first + 15}))
	require.Equal(t, first+2, storedToken(t, server, "key"))
	require.Greater(t, c.PTTL(t.Context(), fenceKey("key")).Val(), 59*time.Minute, "the expiry is kept")
}
