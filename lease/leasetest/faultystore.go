package leasetest

import (
	"context"
	"sync"

	"github.com/actorlock/actorlock/lease"
)

// Traits are those of the inner store.
func (f *Faulty) Traits() lease.Traits { return f.inner.Traits() }

// Acquire passes a on, under the hook of OpAcquire.
func (f *Faulty) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	fault := f.call(OpAcquire)(ctx, a.Key)
	return do(ctx, f, OpAcquire, fault, func(ctx context.Context) (lease.Attempt, error) {
		return f.inner.Acquire(ctx, a)
	})
}

// Extend passes batch on, each lease under the hook of OpExtend: those without
// a fault as one batch, the others each by itself and beside it. It returns
// when the last of them is done. A lease whose fault is a panic is not reported
// on; the panic is raised when the others are done.
func (f *Faulty) Extend(ctx context.Context, batch []lease.Extension, report func(i int, err error)) {
	keyOf := func(x lease.Extension) string { return x.Key }
	doBatch(ctx, f, OpExtend, batch, keyOf, f.inner.Extend, report)
}

// Release passes batch on as Extend does, under the hook of OpRelease.
func (f *Faulty) Release(ctx context.Context, batch []lease.Release, report func(i int, err error)) {
	keyOf := func(r lease.Release) string { return r.Key }
	doBatch(ctx, f, OpRelease, batch, keyOf, f.inner.Release, report)
}

// Reserve passes r on, under the hook of OpReserve.
func (f *Faulty) Reserve(ctx context.Context, r lease.Reservation) (first uint64, err error) {
	fault := f.call(OpReserve)(ctx, r.Key)
	return do(ctx, f, OpReserve, fault, func(ctx context.Context) (uint64, error) {
		return f.inner.Reserve(ctx, r)
	})
}

// Contended passes the question on, under the hook of OpContended.
func (f *Faulty) Contended(ctx context.Context, key, origin string) (bool, error) {
	fault := f.call(OpContended)(ctx, key)
	return do(ctx, f, OpContended, fault, func(ctx context.Context) (bool, error) {
		return f.inner.Contended(ctx, key, origin)
	})
}

// Inspect passes the question on, under the hook of OpInspect.
func (f *Faulty) Inspect(ctx context.Context, key string) (lease.State, error) {
	fault := f.call(OpInspect)(ctx, key)
	return do(ctx, f, OpInspect, fault, func(ctx context.Context) (lease.State, error) {
		return f.inner.Inspect(ctx, key)
	})
}

// Watch watches the inner store. With Err or Hang from the hook of OpWatch the
// watch is deaf, as when every hint is lost: wake is never called. A Panic is
// raised; the delays mean nothing to it.
func (f *Faulty) Watch(key string, wake func(origin string)) (stop func()) {
	fault := f.call(OpWatch)(context.Background(), key)
	switch {
	case fault.Hang:
		return func() {}
	case fault.Panic != nil:
		panic(fault.Panic)
	case fault.Err != nil:
		return func() {}
	}
	return f.inner.Watch(key, wake)
}

type batchFunc[T any] func(ctx context.Context, batch []T, report func(i int, err error))

func doBatch[T any](ctx context.Context, f *Faulty, op Op, batch []T, keyOf func(T) string, run batchFunc[T], report func(i int, err error)) {
	hook := f.call(op)
	b := &reports{report: report}
	var pass []T
	var places []int
	for i, item := range batch {
		fault := hook(ctx, keyOf(item))
		if fault.none() {
			pass, places = append(pass, item), append(places, i)
			continue
		}
		b.wait.Go(func() {
			defer b.catch()
			_, err := do(ctx, f, op, fault, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, single(ctx, item, run)
			})
			b.tell(i, err)
		})
	}
	if len(pass) > 0 || len(batch) == 0 {
		run(ctx, pass, func(i int, err error) { b.tell(places[i], err) })
	}
	b.wait.Wait()
	if b.panicked != nil {
		panic(b.panicked)
	}
}

// single runs a batch of one and returns its verdict.
func single[T any](ctx context.Context, item T, run batchFunc[T]) (verdict error) {
	run(ctx, []T{item}, func(_ int, err error) { verdict = err })
	return verdict
}

// reports gathers the verdicts of a batch whose leases go separate ways, and
// passes them on one at a time.
type reports struct {
	wait sync.WaitGroup

	mu       sync.Mutex
	report   func(i int, err error)
	panicked any
}

func (b *reports) tell(i int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report(i, err)
}

func (b *reports) catch() {
	if p := recover(); p != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.panicked = p
	}
}
