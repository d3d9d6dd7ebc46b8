package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/faultproxy"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
)

func watching(t *testing.T, s *Store, key string) *wakes {
	t.Helper()
	var w wakes
	t.Cleanup(s.Watch(key, w.wake))
	eventually(t, func() bool { return w.count("") > 0 }, "the watch becomes effective")
	return &w
}

// hears tells whether a release still arrives at a watch.
func hears(t *testing.T, s *Store, key, origin string, w *wakes) {
	t.Helper()
	value, _ := take(t, s, key)
	require.NoError(t, release(t.Context(), s, lease.Release{Key: key, Value: value, Origin: origin}))
	eventually(t, func() bool { return w.count(origin) > 0 }, "a release is heard of")
}

func TestWatchesShareAConnectionThatEndsWithThem(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	var stops []func()
	var all [50]wakes
	for i := range all {
		stops = append(stops, s.Watch(fmt.Sprint("key", i%25), all[i].wake))
	}
	for i := range all {
		eventually(t, func() bool { return all[i].count("") > 0 }, "the watch becomes effective")
	}
	require.Len(t, c.PubSubChannels(t.Context(), "*").Val(), 25)
	require.Equal(t, 1, subscribers(t, server))

	for _, stop := range stops[:49] {
		stop()
		stop()
	}
	eventually(t, func() bool { return len(c.PubSubChannels(t.Context(), "*").Val()) == 1 }, "one is left")
	hears(t, s, "key24", "origin", &all[49])
	stops[49]()
	eventually(t, func() bool {
		return subscribers(t, server) == 0 && len(c.PubSubChannels(t.Context(), "*").Val()) == 0
	}, "nothing is left")
	eventually(t, func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return s.hub.running == nil && len(s.hub.topics) == 0 && len(s.hub.changed) == 0
	}, "nothing is left here either")
	w := watching(t, s, "key1")
	hears(t, s, "key1", "origin", w)
}

// subscribers counts the connections that are subscribed to anything.
func subscribers(t *testing.T, server *redistest.Server) int {
	t.Helper()
	n := 0
	list := server.Client(t).Do(t.Context(), "client", "list", "type", "pubsub").String()
	for _, r := range list {
		if r == '\n' {
			n++
		}
	}
	return n
}

func TestWatchSurvivesItsConnection(t *testing.T) {
	server := redistest.Start(t)
	var l log
	s := open(t, server, l.option())
	w := watching(t, s, "key")
	for i := range 3 {
		before := w.count("")
		require.NoError(t, server.Client(t).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		eventually(t, func() bool { return w.count("") > before }, "hints may have been missed")
		hears(t, s, "key", fmt.Sprint("kill", i), w)
	}
	before := w.count("")
	require.NoError(t, server.Restart())
	eventually(t, func() bool { return w.count("") > before }, "hints may have been missed")
	hears(t, s, "key", "restart", w)
	require.NotZero(t, l.count("are back"))
}

// A connection that is dead without a sign is found out by asking.
func TestWatchThroughABlackHole(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.New(t, server.Addr())
	s := openURL(t, "redis://"+proxy.Addr()+"?read_timeout=300ms&dial_timeout=300ms")
	s.hub.pingEvery = 100 * time.Millisecond
	other := open(t, server)
	w := watching(t, s, "key")
	time.Sleep(time.Second) // pings and their answers
	require.Equal(t, 1, w.count(""), "a quiet connection is no dead one")

	proxy.BlackHole(true)
	stuck := proxy.Accepted()
	eventually(t, func() bool { return proxy.Accepted() > stuck }, "it connects anew")
	proxy.BlackHole(false)
	eventually(t, func() bool { return w.count("") > 1 }, "hints may have been missed")
	hears(t, other, "key", "healed", w)
}

// Neither Watch nor stop waits for a server that does not answer, and nothing
// is left of them once the client's time-outs have passed.
func TestWatchOfAHungServer(t *testing.T) {
	server := redistest.Start(t)
	s := openURL(t, server.URL()+"?read_timeout=300ms")
	require.NoError(t, server.Pause())
	start := time.Now()
	for range 100 {
		s.Watch("key", func(string) { t.Error("woken") })()
	}
	stop := s.Watch("key", func(string) { t.Error("woken") })
	time.Sleep(50 * time.Millisecond)
	stop()
	require.Less(t, time.Since(start), 250*time.Millisecond)
	eventually(t, func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return s.hub.running == nil
	}, "the goroutine ends")
	require.NoError(t, server.Resume())
}

// Stop and the wake-ups of reconnections race, and no call begins after stop.
func TestStopRacesWithReconnections(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server)
	c := server.Client(t)
	for i := range 50 {
		stopped := make(chan struct{})
		stop := s.Watch("key", func(string) {
			select {
			case <-stopped:
				t.Error("woken after stop")
			default:
			}
		})
		if i%5 == 0 {
			require.NoError(t, c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		}
		time.Sleep(time.Duration(i%10) * time.Millisecond)
		stop()
		close(stopped)
	}
}
