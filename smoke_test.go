package actorlock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorlock/actorlock/lease/memstore"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	store := memstore.New()
	var ms []*Manager
	for range 3 {
		m, err := New(Config{Store: store})
		require.NoError(t, err)
		ms = append(ms, m)
	}
	ctx := context.Background()
	v, err := WithLock(ctx, ms[0], "k", func(ctx context.Context) (int, error) {
		l, ok := LeaseFrom(ctx)
		require.True(t, ok)
		t.Log(l, l.Deadline())
		require.ErrorIs(t, ms[1].WithLock(ctx, "k", func(context.Context) error { return nil }, RetryAttempts(0)), ErrHeld)
		return 3, ms[0].WithLock(ctx, "k", func(context.Context) error { return nil })
	})
	require.NoError(t, err)
	require.Equal(t, 3, v)
	var inside, count atomic.Int32
	var wg sync.WaitGroup
	begin := time.Now()
	n := 0
	for i := range 60 {
		wg.Go(func() {
			for range 200 {
				err := ms[i%3].WithLock(ctx, "k", func(ctx context.Context) error {
					if inside.Add(1) != 1 {
						t.Error("two holders")
					}
					n++
					inside.Add(-1)
					count.Add(1)
					return nil
				}, RetryAttempts(RetryForever))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	t.Log(count.Load(), n, time.Since(begin))
	for _, m := range ms {
		require.NoError(t, m.Shutdown(ctx))
	}
}

func TestSmokeLost(t *testing.T) {
	store := memstore.New()
	m, err := New(Config{Store: store})
	require.NoError(t, err)
	err = m.WithLock(context.Background(), "k", func(ctx context.Context) error {
		store.Delete("k")
		<-ctx.Done()
		return context.Cause(ctx)
	}, TTL(300*time.Millisecond))
	require.ErrorIs(t, err, ErrLeaseGone)
	var pe *PanicError
	func() {
		defer func() { require.True(t, errors.As(recover().(error), &pe)) }()
		_ = m.WithLock(context.Background(), "k", func(ctx context.Context) error { panic("x") })
	}()
	require.NoError(t, m.Shutdown(context.Background()))
}

func BenchmarkPair(b *testing.B) {
	m, _ := New(Config{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.WithLock(ctx, "k", func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	m.Shutdown(ctx)
}
func BenchmarkHot(b *testing.B) {
	m, _ := New(Config{})
	ctx := context.Background()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := m.WithLock(ctx, "k", func(context.Context) error { return nil }, RetryAttempts(RetryForever)); err != nil {
				b.Fatal(err)
			}
		}
	})
	m.Shutdown(ctx)
}
