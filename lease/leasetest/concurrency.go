package leasetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// Many contend for one key: there are never two holders, and their tokens rise
// in the order in which they hold it.
func oneHolder(s *suite) {
	const contenders, turns = 16, 8
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	key := newKey()
	var holders, held atomic.Int64
	var last uint64 // guarded by the lock under test alone, and ordered by holders
	turn := func() error {
		value := lease.NewValue("contender")
		for {
			at, err := s.Acquire(ctx, lease.Acquisition{Key: key, Value: value, TTL: long, Fence: true})
			if err != nil {
				return err
			}
			if !at.Acquired {
				runtime.Gosched()
				continue
			}
			if holders.Add(1) != 1 {
				s.Error("two holders")
			}
			if s.Traits().Fencing && at.Token <= last {
				s.Errorf("token %d after %d", at.Token, last)
			}
			last = at.Token
			held.Add(1)
			holders.Add(-1)
			var verdict error
			s.Release(ctx, []lease.Release{{Key: key, Value: value, Certain: true}}, func(_ int, err error) { verdict = err })
			return verdict
		}
	}
	var wg sync.WaitGroup
	for range contenders {
		wg.Go(func() {
			for range turns {
				if err := turn(); err != nil {
					s.Errorf("turn: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(s, contenders*turns, held.Load())
	require.False(s, s.held(key))
}

// Of many first attempts on a free key exactly one succeeds, whatever else
// goes on with other keys at the same time.
func oneWinner(s *suite) {
	const contenders = 32
	for range 10 {
		key := newKey()
		var winners atomic.Int64
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range contenders {
			wg.Go(func() {
				own, value := newKey(), lease.NewValue("contender")
				<-start
				for _, k := range []string{key, own} {
					at, err := s.Acquire(s.ctx, lease.Acquisition{
						Key: k, Value: value, TTL: long, Fence: true, Origin: value, Mark: long,
					})
					switch {
					case err != nil:
						s.Errorf("acquire: %v", err)
					case k == key && at.Acquired:
						winners.Add(1)
					case k == own && !at.Acquired:
						s.Errorf("%q is held by %q", k, at.Holder)
					}
				}
				s.Extend(s.ctx, []lease.Extension{{Key: own, Value: value, TTL: long}}, func(_ int, err error) {
					if err != nil {
						s.Errorf("extend: %v", err)
					}
				})
				s.Release(s.ctx, []lease.Release{{Key: own, Value: value}}, func(_ int, err error) {
					if err != nil {
						s.Errorf("release: %v", err)
					}
				})
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(s, 1, winners.Load())
	}
}

// A context that ends at any moment of an attempt: it succeeds, or was not
// executed, or nobody knows, and then a second attempt with the same value does.
func cutShort(s *suite) {
	for range 100 {
		a := lease.Acquisition{Key: newKey(), Value: lease.NewValue("late"), TTL: long}
		ctx, cancel := context.WithCancel(s.ctx)
		time.AfterFunc(time.Duration(rand.Int64N(int64(500*time.Microsecond))), cancel)
		at, err := s.Acquire(ctx, a)
		cancel()
		switch {
		case err == nil:
			require.True(s, at.Acquired)
			require.True(s, s.held(a.Key))
		case lease.KindOf(err) == lease.NotExecuted:
			require.False(s, s.held(a.Key))
		default:
			require.True(s, errors.Is(err, context.Canceled), "%v", err)
			// A store may be taking the first one back meanwhile.
			s.eventually(func() bool {
				at, err := s.Acquire(s.ctx, a)
				return err == nil && at.Acquired
			}, "it is its own lease")
		}
	}
}
