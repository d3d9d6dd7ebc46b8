package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/actorlock/actorlock/lease"
	"github.com/actorlock/actorlock/lease/memstore"
)

// flaw is a defect of the store, for the tests of the checks.
type flaw int

const (
	sound    flaw = iota
	twoIn         // now and then lets a second holder in
	flat          // tokens are all the same
	falls         // tokens fall
	forgets       // keys end after a quarter of their TTL
	pretends      // an extension of a lost lease is granted
	keeps         // a release is reported and not done
	refuses       // a free key is reported held now and then
	drops         // keys vanish
)

// ledger is the store that all nodes share: a memstore, and the truth about who
// has which key. Its mutex is that of the whole world, so that what a check
// sees of the keys and of the callers belongs together.
type ledger struct {
	mu    *sync.Mutex
	w     *world
	inner *memstore.Store
	keys  map[string]*record
	flaw  flaw
	calls int
}

// record is one key.
type record struct {
	key    int
	value  string    // "" when it was released or deleted
	node   *node     // whose value it is, nil for a stranger
	expiry time.Time // of the value
	freed  time.Time // when there is none
	thefts []theft
}

// theft is a moment at which the store gave up a node's key early.
type theft struct {
	at     time.Time
	victim *node
}

func (r *record) held(now time.Time) bool { return r.value != "" && now.Before(r.expiry) }

// freeSince is when the key became free; it is free now.
func (r *record) freeSince() time.Time {
	if r.value == "" {
		return r.freed
	}
	return r.expiry
}

// view is the ledger as one node sees it.
type view struct {
	*ledger
	node *node // nil: a stranger
}

var _ lease.Store = view{}

func (v view) Traits() lease.Traits { return v.inner.Traits() }

func (v view) Acquire(ctx context.Context, a lease.Acquisition) (lease.Attempt, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, r := time.Now(), v.keys[a.Key]
	v.calls++
	switch {
	case v.flaw == twoIn && r.held(now) && v.calls%3 == 0:
		return lease.Attempt{Acquired: true, Token: uint64(now.UnixMicro())}, nil
	case v.flaw == refuses && v.calls%20 >= 5:
		return lease.Attempt{Holder: "nobody", TTL: time.Minute}, nil
	case v.flaw == forgets:
		a.TTL /= 4
	}
	at, err := v.inner.Acquire(ctx, a)
	if at.Token > 0 {
		switch v.flaw {
		case flat:
			at.Token = 7
		case falls:
			at.Token = 1<<60 - at.Token
		}
	}
	if err != nil || !at.Acquired {
		return at, err
	}
	if !r.held(now) || r.value != a.Value {
		v.w.note("%s has %s (%s)", v.node, a.Key, short(a.Value))
		v.w.taken(r, now)
	}
	expiry := now.Add(lease.WholeMillis(a.TTL))
	if r.held(now) && r.value == a.Value && r.expiry.After(expiry) {
		expiry = r.expiry
	}
	r.value, r.node, r.expiry = a.Value, v.node, expiry
	return at, nil
}

func (v view) Extend(ctx context.Context, batch []lease.Extension, report func(i int, err error)) {
	verdicts := make([]error, len(batch))
	v.mu.Lock()
	if v.flaw == drops {
		for _, x := range batch {
			v.inner.Delete(x.Key)
		}
	}
	v.inner.Extend(ctx, batch, func(i int, err error) { verdicts[i] = err })
	for i, x := range batch {
		if verdicts[i] == nil {
			v.keys[x.Key].expiry = time.Now().Add(lease.WholeMillis(x.TTL))
		} else if v.flaw == pretends && lease.IsLoss(verdicts[i]) {
			verdicts[i] = nil
		}
	}
	v.mu.Unlock()
	for i, err := range verdicts {
		report(i, err)
	}
}

func (v view) Release(ctx context.Context, batch []lease.Release, report func(i int, err error)) {
	verdicts := make([]error, len(batch))
	v.mu.Lock()
	if v.flaw != keeps {
		v.inner.Release(ctx, batch, func(i int, err error) { verdicts[i] = err })
		for i, x := range batch {
			if verdicts[i] == nil {
				v.w.note("%s frees %s (%s)", v.node, x.Key, short(x.Value))
				v.keys[x.Key].free(time.Now())
			}
		}
	}
	v.mu.Unlock()
	for i, err := range verdicts {
		report(i, err)
	}
}

func (r *record) free(now time.Time) { r.value, r.node, r.freed = "", nil, now }

func (v view) Reserve(ctx context.Context, q lease.Reservation) (uint64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	first, err := v.inner.Reserve(ctx, q)
	if err == nil && q.TTL > 0 {
		v.keys[q.Key].expiry = time.Now().Add(lease.WholeMillis(q.TTL))
	}
	return first, err
}

func (v view) Contended(ctx context.Context, key, origin string) (bool, error) {
	return v.inner.Contended(ctx, key, origin)
}

func (v view) Inspect(ctx context.Context, key string) (lease.State, error) {
	return v.inner.Inspect(ctx, key)
}

func (v view) Watch(key string, wake func(origin string)) (stop func()) {
	return v.inner.Watch(key, wake)
}

// rob takes key from whoever has it: for ttl, or with 0 for nobody.
func (l *ledger) rob(key string, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, r := time.Now(), l.keys[key]
	if r.held(now) && r.node != nil {
		r.thefts = append(r.thefts, theft{now, r.node})
		l.w.robbed(r, now)
	}
	l.w.note("%s is taken from %s for %v", key, r.node, ttl)
	if ttl == 0 {
		l.w.count.deletions++
		l.inner.Delete(key)
		if r.held(now) {
			r.free(now)
		}
		return
	}
	l.w.count.thefts++
	l.inner.Steal(key, "thief/1", ttl)
	if !r.held(now) {
		l.w.taken(r, now)
	}
	r.value, r.node, r.expiry = "thief/1", nil, now.Add(lease.WholeMillis(ttl))
}

// short is a lock value as the trace shows it.
func short(value string) string {
	i := strings.LastIndexByte(value, '/')
	return value[:i+1] + value[i+1:min(len(value), i+5)]
}
