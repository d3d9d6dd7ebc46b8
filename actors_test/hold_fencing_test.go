package actors_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/leasetest"
	"github.com/actorlock/actorlock/lease/memstore"
)

const fence = "{k}:actorlock-Fence" // of the key k

// tokens runs calls on every manager at once and returns their tokens in the
// order of the holds.
func tokens(t *testing.T, ms []*actorlock.Manager, workers, calls int) []uint64 {
	t.Helper()
	var seen []uint64 // guarded by the lock
	var wg sync.WaitGroup
	for _, m := range ms {
		for range workers {
			wg.Go(func() {
				for range calls {
					err := m.WithLock(t.Context(), "k", func(ctx context.Context) error {
						l, _ := actorlock.LeaseFrom(ctx)
						seen = append(seen, l.Token)
						return nil
					}, actorlock.RetryAttempts(forever), actorlock.RetryDelay(20*time.Millisecond))
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	require.Len(t, seen, len(ms)*workers*calls)
	return seen
}

func requireRising(t *testing.T, tokens []uint64) {
	t.Helper()
	for i := 1; i < len(tokens); i++ {
		require.Greater(t, tokens[i], tokens[i-1], "token %d", i)
	}
}

// contract 3.4: tokens rise strictly across nodes and local hand-overs.
func TestHoldTokensRise(t *testing.T) {
	store := memstore.New()
	ms := []*actorlock.Manager{newManager(t, store), newManager(t, store), newManager(t, store)}
	requireRising(t, tokens(t, ms, 8, 40))
}

// contract 3.4: the same in Redis, also after a restart without data, and never
// ahead of the clock.
func TestHoldTokensRiseInRedis(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	ms := []*actorlock.Manager{redisManager(t, srv), redisManager(t, srv)}
	all := tokens(t, ms, 8, 10)
	require.NoError(t, srv.Restart())
	eventually(t, func() bool { return other.Ping(t.Context()).Err() == nil })
	require.Zero(t, other.Exists(t.Context(), fence).Val())
	all = append(all, tokens(t, ms, 4, 5)...)
	requireRising(t, all)
	now := other.Time(t.Context()).Val()
	require.LessOrEqual(t, all[len(all)-1], uint64(now.UnixMicro()))
}

// contract 3.4: an acquire mints exactly one; what hand-overs have reserved is
// given back at the release. It is stored beside the lock, with an expiry.
func TestHoldTokensAreGivenBack(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	stored := func() uint64 {
		n, err := other.Get(t.Context(), fence).Uint64()
		require.NoError(t, err)
		return n
	}
	m := redisManager(t, srv)
	h := holding(t, t.Context(), m, "k")
	require.Equal(t, h.token(), stored())
	h.release()
	require.Equal(t, h.token(), stored())
	left := other.PTTL(t.Context(), fence).Val()
	require.Greater(t, left, time.Minute)
	require.Less(t, left, 24*time.Hour)

	h = holding(t, t.Context(), m, "k")
	var line []*running
	for i := range 5 {
		line = append(line, queueUp(t, t.Context(), m, "k"))
		queued(t, m, "k", i+1)
	}
	last := h.token()
	h.release()
	for i, next := range line {
		next.granted()
		require.Greater(t, next.token(), last)
		last = next.token()
		if i > 0 {
			require.Greater(t, stored(), last, "a block is reserved, so that a crash repeats none")
		}
		next.release()
	}
	require.Equal(t, last, stored(), "the rest of it is given back")
	keys := other.Keys(t.Context(), "*").Val()
	slices.Sort(keys)
	require.Subset(t, []string{"{k}:actorlock-Wait", fence}, keys, "nothing else stays")
}

// contract 3.4: a node that is gone with a block in hand repeats no token.
func TestHoldTokensOfACrashedNode(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	first, second := redisManager(t, srv), redisManager(t, srv)
	h := holding(t, t.Context(), first, "k")
	next := queueUp(t, t.Context(), first, "k")
	queued(t, first, "k", 1)
	h.release()
	next.granted()
	require.NoError(t, srv.Client(t).Del(t.Context(), "k").Err()) // as if it had expired
	thief := holding(t, t.Context(), second, "k")
	require.Greater(t, thief.token(), next.token())
	thief.release()
}

// contract 3.4: fencing can be switched off.
func TestHoldWithoutFencing(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	m := redisManager(t, srv, actorlock.Fencing(false))
	h := holding(t, t.Context(), m, "k")
	require.Zero(t, h.token())
	next := queueUp(t, t.Context(), m, "k")
	queued(t, m, "k", 1)
	h.release()
	next.granted()
	require.Zero(t, next.token())
	require.Zero(t, srv.Client(t).Exists(t.Context(), fence).Val())
	next.release()
	fenced := holding(t, t.Context(), m, "k", actorlock.Fencing(true))
	require.NotZero(t, fenced.token())
	fenced.release()
}

// contract 3.4: a call with fencing that takes over from one without gets a
// token, and the other way round.
func TestHoldFencingOfSome(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *leasetest.Faulty, _ *memstore.Store) {
		m := newManager(t, f)
		last := uint64(0)
		h := holding(t, t.Context(), m, "k", actorlock.Fencing(false))
		for i := range 6 {
			next := queueUp(t, t.Context(), m, "k", actorlock.Fencing(i%2 == 0))
			time.Sleep(time.Millisecond)
			h.release()
			next.granted()
			if h = next; i%2 == 0 {
				require.Greater(t, h.token(), last)
				last = h.token()
			} else {
				require.Zero(t, h.token())
			}
		}
		require.Equal(t, 1, f.Calls(leasetest.OpAcquire))
	})
}

// contract 3.4: something foreign in place of the tokens is left alone; they
// come from the clock then, and the lock is not handed over.
func TestHoldForeignFenceKey(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	other := srv.Client(t)
	tests := map[string]struct {
		put  func(c *redis.Client) error
		same func(c *redis.Client) bool
	}{
		"text": {
			func(c *redis.Client) error { return c.Set(t.Context(), fence, "not a token", 0).Err() },
			func(c *redis.Client) bool { return c.Get(t.Context(), fence).Val() == "not a token" },
		},
		"list": {
			func(c *redis.Client) error { return c.RPush(t.Context(), fence, "a", "b").Err() },
			func(c *redis.Client) bool { return c.LLen(t.Context(), fence).Val() == 2 },
		},
	}
	for name, tt := range tests {
		require.NoError(t, other.FlushAll(t.Context()).Err())
		require.NoError(t, tt.put(other))
		m := redisManager(t, srv)
		before := uint64(time.Now().Add(-time.Minute).UnixMicro())
		h := holding(t, t.Context(), m, "k")
		values := map[string]bool{other.Get(t.Context(), "k").Val(): true}
		for range 4 {
			next := queueUp(t, t.Context(), m, "k", actorlock.RetryAttempts(forever), actorlock.RetryDelay(10*time.Millisecond))
			queued(t, m, "k", 1)
			last := h.token()
			require.Greater(t, last, before, name)
			h.release()
			next.granted()
			h = next
			require.Greater(t, h.token(), last, name)
			value := other.Get(t.Context(), "k").Val()
			require.False(t, values[value], "%s: handed over", name)
			values[value] = true
			require.True(t, tt.same(other), name)
		}
		h.release()
		require.True(t, tt.same(other), name)
	}
}

// contract 3.4: the token is minted before the key is set.
func TestHoldTokenIsMintedFirst(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	m := redisManager(t, srv)
	monitor := srv.Monitor(t)
	holding(t, t.Context(), m, "k").release()
	minted, set := place(monitor, strconv.Quote(fence)), place(monitor, `"SET" "k"`)
	require.GreaterOrEqual(t, minted, 0)
	require.Greater(t, set, minted)
}

// place is where a script's SET that contains text is in the recording.
func place(m *redistest.Monitor, text string) int {
	return slices.IndexFunc(m.Lines(), func(line string) bool {
		return strings.Contains(line, " lua]") && strings.Contains(line, `"SET"`) && strings.Contains(line, text)
	})
}

// contract 3.4: also when an attempt without fencing, whose reply was lost, has
// got the key: it has minted no token that the next one could be given again.
func TestHoldTokenAfterALostAcquireWithout(t *testing.T) {
	t.Parallel()
	srv := redisServer(t)
	f := leasetest.NewFaulty(deaf{redisStore(t, userClient(t, srv.Addr()))})
	m := newManager(t, f)
	h := holding(t, t.Context(), m, "k")
	first := h.token()
	h.release()
	sent := make(chan struct{})
	lose := leasetest.Times(1, leasetest.Fault{Err: io.EOF, Executed: true})
	f.On(leasetest.OpAcquire, func(ctx context.Context, key string) leasetest.Fault {
		fault := lose(ctx, key)
		if fault.Executed {
			close(sent)
		}
		return fault
	})
	without := start(m, "k", nothing, actorlock.Fencing(false), retryForever, actorlock.RetryDelay(time.Hour))
	<-sent
	next := queueUp(t, t.Context(), m, "k", retryForever, actorlock.RetryDelay(100*time.Millisecond))
	queued(t, m, "k", 2)
	without.cancel(nil)
	require.Error(t, without.wait())
	next.granted()
	require.Greater(t, next.token(), first)
	next.release()
}
