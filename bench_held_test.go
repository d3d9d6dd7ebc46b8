package actorlock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/redisstore"
	"github.com/redis/go-redis/v9"
)

// hold has m hold n keys, until release is called.
func hold(b *testing.B, m *actorlock.Manager, n int, opts ...actorlock.Option) (release func()) {
	b.Helper()
	ctx := b.Context() // which can end
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key:", i)
	}
	var entered, left sync.WaitGroup
	entered.Add(n)
	left.Add(n)
	stop := make(chan struct{})
	for _, key := range keys {
		go func() {
			defer left.Done()
			_ = m.WithLock(ctx, key, func(ctx context.Context) error {
				entered.Done()
				select {
				case <-stop:
				case <-ctx.Done():
				}
				return nil
			}, opts...)
		}()
	}
	entered.Wait()
	return func() { close(stop); left.Wait() }
}

var plainExtend = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)

// tick holds n keys with a goroutine, a ticker and a command per key.
func tick(b *testing.B, c *redis.Client, n int, ttl time.Duration) (release func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range n {
		key, value := fmt.Sprint("plain:", i), lease.NewID()
		if err := c.SetNX(ctx, key, value, ttl).Err(); err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			t := time.NewTicker(ttl / 3)
			defer t.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-t.C:
					_ = plainExtend.Run(ctx, c, []string{key}, value, ttl.Milliseconds()).Err()
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// BenchmarkHeldKeys2000 compares what it takes to keep 2,000 locks alive.
func BenchmarkHeldKeys2000(b *testing.B) {
	const n, ttl = 2000, 3 * time.Second
	srv := redistest.Start(b)
	client := benchClient(b, srv)
	m := benchManager(b, redisstore.New(client))
	// spent is the CPU time of two periods.
	spent := func() time.Duration {
		begin := cpu()
		time.Sleep(2 * ttl / 3)
		return cpu() - begin
	}
	var ours, plain time.Duration
	for b.Loop() {
		release := hold(b, m, n, actorlock.TTL(ttl))
		ours += spent()
		release()
		release = tick(b, client, n, ttl)
		plain += spent()
		release()
	}
	b.ReportMetric(float64(ours)/float64(plain), "x-plain-cpu")
}

// BenchmarkHeldKeyMemory is what a held key takes: heap and stacks, the caller's
// goroutine included.
func BenchmarkHeldKeyMemory(b *testing.B) {
	srv := redistest.Start(b)
	for _, n := range []int{10_000, 50_000} {
		for _, await := range []bool{false, true} {
			b.Run(fmt.Sprintf("keys=%d/await=%v", n, await), func(b *testing.B) {
				var opts []actorlock.Option
				if await {
					opts = append(opts, actorlock.AwaitCallback())
				}
				var bytes, goroutines float64
				for b.Loop() {
					m := benchManager(b, redisstore.New(benchClient(b, srv)))
					hold(b, m, 1)() // connections
					before, was := live(), runtime.NumGoroutine()
					release := hold(b, m, n, opts...)
					bytes += float64(live()-before) / float64(n)
					goroutines += float64(runtime.NumGoroutine()-was) / float64(n)
					release()
					_ = m.Shutdown(context.Background())
				}
				b.ReportMetric(bytes/float64(b.N), "B/key")
				b.ReportMetric(goroutines/float64(b.N), "goroutines/key")
			})
		}
	}
}

// live is the heap and the stacks after a collection.
func live() int64 {
	for range 6 {
		runtime.GC()
		time.Sleep(100 * time.Millisecond) // idle goroutines go
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc + s.StackInuse)
}

// BenchmarkShutdown10000 is a Shutdown that releases 10,000 held keys.
func BenchmarkShutdown10000(b *testing.B) {
	srv := redistest.Start(b)
	client := benchClient(b, srv)
	for b.Loop() {
		b.StopTimer()
		m := benchManager(b, redisstore.New(client))
		release := hold(b, m, 10_000)
		b.StartTimer()
		if err := m.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		release()
		b.StartTimer()
	}
}

// BenchmarkHandOver counts the commands per section of a key that many want.
func BenchmarkHandOver(b *testing.B) {
	for _, callers := range []int{1, 200} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			srv := redistest.Start(b)
			client := benchClient(b, srv)
			m := benchManager(b, redisstore.New(client))
			hold(b, m, 1)() // connections, scripts
			srv.ResetCalls(b)
			var wg sync.WaitGroup
			turns := make(chan struct{})
			for range callers {
				wg.Go(func() {
					for range turns {
						if err := m.WithLock(context.Background(), "hot", nothing, actorlock.RetryAttempts(actorlock.RetryForever)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				turns <- struct{}{}
			}
			close(turns)
			wg.Wait()
			b.ReportMetric(float64(srv.Commands(b))/float64(b.N), "commands/section")
		})
	}
}

// BenchmarkWakeUp is the time from a release on one node to the entry of the
// waiter on another.
func BenchmarkWakeUp(b *testing.B) {
	srv := redistest.Start(b)
	var nodes [2]*actorlock.Manager
	for i := range nodes {
		nodes[i] = benchManager(b, redisstore.New(benchClient(b, srv)))
	}
	ctx := context.Background()
	var took []time.Duration
	for b.Loop() {
		held, err := nodes[0].Acquire(ctx, "key")
		if err != nil {
			b.Fatal(err)
		}
		entered := make(chan time.Time, 1)
		go func() {
			_ = nodes[1].WithLock(ctx, "key", func(context.Context) error {
				entered <- time.Now()
				return nil
			}, actorlock.RetryAttempts(actorlock.RetryForever), actorlock.RetryDelay(time.Hour))
		}()
		for { // until it waits
			if s, err := nodes[1].Inspect(ctx, "key"); err == nil && s.Waiters == 1 {
				break
			}
		}
		// The subscription, and the attempt that it starts, have passed by then;
		// of that attempt's end nothing tells.
		time.Sleep(3 * time.Millisecond)
		released := time.Now()
		if err := held.Release(ctx); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-entered).Sub(released))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-us")
}
