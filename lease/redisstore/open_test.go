package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

const secret = "s3cr3t-pass"

func TestOpenOverSocketAndPassword(t *testing.T) {
	server := redistest.Start(t, redistest.Unix(), redistest.Password(secret))
	for _, url := range []string{server.URL(), "unix://:" + secret + "@" + server.Socket() + "?db=1"} {
		s := openURL(t, url)
		take(t, s, "key")
	}
	require.EqualValues(t, 2, server.Client(t).DBSize(t.Context()).Val(), "the other one is in another database")
}

func TestOpenTunesItsClients(t *testing.T) {
	s := openURL(t, "redis://localhost:1/3?read_timeout=7s")
	for _, l := range []*lane{&s.main, &s.renewals} {
		opt := l.client.(*redis.Client).Options()
		require.True(t, opt.ContextTimeoutEnabled)
		require.Equal(t, 7*time.Second, opt.ReadTimeout)
		require.Equal(t, 3, opt.DB)
	}
	require.NotSame(t, s.main.client, s.renewals.client)
}

// Not even a URL that cannot be parsed gets into an error.
func TestOpenErrorsKeepSecrets(t *testing.T) {
	for _, url := range []string{
		"", "localhost:6379", "http://:" + secret + "@host", ":" + secret + "@host:1",
		"redis://:" + secret + "%zz@host", "redis://:" + secret + "/x@host:1/0", "redis://user:" + secret + "@host:port",
		"redis://:x@host/" + secret, "redis://:x@host/0?" + secret + "=1", "redis://:x@host/0?db=" + secret,
		"redis://:x@host/0?pool_size=" + secret, "unix://:" + secret + "@", "redis://:" + secret + "\x7f@host",
	} {
		s, err := Open(url)
		require.Nil(t, s)
		require.ErrorIs(t, err, lease.ErrInvalidConfig, url)
		require.ErrorContains(t, err, "url")
		require.NotContains(t, err.Error(), secret)
	}
}

func TestWrongPassword(t *testing.T) {
	server := redistest.Start(t, redistest.Password("right"))
	var l log
	s := openURL(t, "redis://:"+secret+"@"+server.Addr(), l.option())
	defer s.Watch("key", func(string) {})()
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.Permanent, kindOf(t, err))
	require.NotContains(t, err.Error(), secret)
	for _, err := range []error{
		extend(t.Context(), s, lease.Extension{Key: "key", Value: "a/1", TTL: long}),
		release(t.Context(), s, lease.Release{Key: "key", Value: "a/1", Certain: true, Used: 1, Reserved: 2}),
	} {
		require.Equal(t, lease.Permanent, kindOf(t, err))
		require.NotContains(t, err.Error(), secret)
	}
	eventually(t, func() bool { return l.count("interrupted") > 0 }, "the subscription fails too")
	require.Zero(t, l.count(secret))
}

func TestUnfitClients(t *testing.T) {
	pipeliner, err := client(t, "localhost:1").AutoPipeline()
	require.NoError(t, err)
	for _, s := range []*Store{
		New(nil), New((*redis.Client)(nil)), New((*redis.ClusterClient)(nil)), New(pipeliner),
	} {
		_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
		require.Equal(t, lease.Permanent, kindOf(t, err))
		require.Equal(t, lease.Permanent, kindOf(t, extend(t.Context(), s, lease.Extension{Key: "key", Value: "a/1", TTL: long})))
		require.Equal(t, lease.Permanent, kindOf(t, release(t.Context(), s, lease.Release{Key: "key", Value: "a/1"})))
		_, err = s.Inspect(t.Context(), "key")
		require.Equal(t, lease.Permanent, kindOf(t, err))
		s.Watch("key", func(string) { t.Error("woken") })()
		require.NoError(t, s.Close())
	}
}

func TestCloseLeavesAClientThatWasPassedIn(t *testing.T) {
	server := redistest.Start(t)
	c := client(t, server.Addr())
	var w wakes
	s := New(c)
	stop := s.Watch("key", w.wake)
	eventually(t, func() bool { return w.count("") > 0 }, "the watch becomes effective")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	require.Empty(t, server.Client(t).PubSubChannels(t.Context(), "*").Val())
	stop()
	require.NoError(t, c.Ping(t.Context()).Err())
}

func TestClosedStore(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	take(t, s, "key")
	require.NoError(t, s.Close())
	_, err := s.Acquire(t.Context(), lease.Acquisition{Key: "key", Value: "a/1", TTL: long})
	require.Equal(t, lease.Permanent, kindOf(t, err))
	s.Watch("key", func(string) { t.Error("woken") })()
}

func TestRenewWith(t *testing.T) {
	server := redistest.Start(t)
	other := redis.NewClient(&redis.Options{Addr: server.Addr(), ClientName: "renewals"})
	defer other.Close()
	s := New(client(t, server.Addr()), RenewWith(other), Logger(nil))
	value, _ := take(t, s, "key")
	require.Zero(t, other.PoolStats().TotalConns)
	require.NoError(t, extend(t.Context(), s, lease.Extension{Key: "key", Value: value, TTL: long}))
	require.EqualValues(t, 1, other.PoolStats().TotalConns)
}
