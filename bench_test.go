package actorlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/redisstore"
	"github.com/redis/go-redis/v9"
)

// Benchmarks beside plain go-redis (SET NX PX + script release, default pool)
// on one Redis. Compare within one run only.

var plainRelease = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

func plainPair(ctx context.Context, c *redis.Client, key string) error {
	value := lease.NewID()
	ok, err := c.SetNX(ctx, key, value, 30*time.Second).Result()
	if err != nil || !ok {
		return fmt.Errorf("not taken: %w", err)
	}
	return plainRelease.Run(ctx, c, []string{key}, value).Err()
}

// benchClient is a client with the default pool.
func benchClient(b *testing.B, srv *redistest.Server) *redis.Client {
	b.Helper()
	client := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	b.Cleanup(func() { _ = client.Close() })
	return client
}

func benchManager(b *testing.B, s lease.Store) *actorlock.Manager {
	b.Helper()
	m, err := actorlock.New(actorlock.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	return m
}

// cpu is the time that this process has spent on processors.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func nothing(context.Context) error { return nil }

func BenchmarkSerial(b *testing.B) {
	srv := redistest.Start(b)
	client := benchClient(b, srv)
	m := benchManager(b, redisstore.New(client))
	ctx := context.Background()
	// Interleaved, so that both see the same machine.
	var plain, ours time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		if err := plainPair(ctx, client, "plain"); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if err := m.WithLock(ctx, "ours", nothing); err != nil {
			b.Fatal(err)
		}
		plain += middle.Sub(begin)
		ours += time.Since(middle)
	}
	b.ReportMetric(float64(ours)/float64(plain), "x-plain")
	b.ReportMetric(float64(ours)/float64(b.N), "ns/ours")
	b.ReportMetric(float64(plain)/float64(b.N), "ns/plain")
}

func BenchmarkDistinctKeys(b *testing.B) {
	srv := redistest.Start(b)
	ctx := context.Background()
	for _, callers := range []int{16, 256, 1024} {
		client := benchClient(b, srv)
		m := benchManager(b, redisstore.New(client))
		run := func(b *testing.B, pair func(key string) error) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			begin := cpu()
			for i := range callers {
				key := fmt.Sprint("key:", i)
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := pair(key); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(cpu()-begin)/float64(b.N), "cpu-ns/op")
		}
		b.Run(fmt.Sprintf("plain/%d", callers), func(b *testing.B) {
			run(b, func(key string) error { return plainPair(ctx, client, key) })
		})
		b.Run(fmt.Sprintf("ours/%d", callers), func(b *testing.B) {
			run(b, func(key string) error { return m.WithLock(ctx, key, nothing) })
		})
		b.Run(fmt.Sprintf("unfenced/%d", callers), func(b *testing.B) {
			run(b, func(key string) error { return m.WithLock(ctx, key, nothing, actorlock.Fencing(false)) })
		})
	}
}

func BenchmarkHotKey(b *testing.B) {
	srv := redistest.Start(b)
	client := benchClient(b, srv)
	m := benchManager(b, redisstore.New(client))
	b.ReportAllocs()
	b.SetParallelism(32)
	ctx := context.Background()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := m.WithLock(ctx, "hot", nothing, actorlock.RetryAttempts(actorlock.RetryForever)); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkMemoryPair(b *testing.B) {
	m := benchManager(b, nil)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.WithLock(ctx, "key", nothing); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReentry(b *testing.B) {
	m := benchManager(b, nil)
	b.ReportAllocs()
	_ = m.WithLock(context.Background(), "key", func(ctx context.Context) error {
		for b.Loop() {
			if err := m.WithLock(ctx, "key", nothing); err != nil {
				b.Fatal(err)
			}
		}
		return nil
	})
}
