package memstore

import (
	"slices"
	"time"

	"github.com/actorlock/actorlock/lease"
)

const (
	// sweepPerAcquire is how many entries each Acquire looks at. It adds one at
	// most, so with two the dead entries never outnumber the live ones for long.
	sweepPerAcquire = 2
	// smallTable is the capacity below which giving memory back is not worth it.
	smallTable = 1024
)

// entry is what the store knows of one key: who holds it and who waits for it.
type entry struct {
	key    string
	value  string
	token  uint64    // minted for this value; 0: none was asked for
	expiry time.Time // zero: the key has no expiry
	taken  bool      // false: released, and kept for the marks alone
	marks  []mark
}

// mark tells that the manager origin waits for a key.
type mark struct {
	origin string
	until  time.Time
}

func (e *entry) held(now time.Time) bool {
	return e.taken && (e.expiry.IsZero() || now.Before(e.expiry))
}

// remaining is the time to live of an entry that is held.
func (e *entry) remaining(now time.Time) time.Duration {
	if e.expiry.IsZero() {
		return lease.NoExpiry
	}
	return e.expiry.Sub(now)
}

func (e *entry) hold(value string, expiry time.Time) {
	e.taken, e.value, e.expiry = true, value, expiry
}

func (e *entry) mark(origin string, now time.Time, d time.Duration) {
	e.marks = slices.DeleteFunc(e.marks, func(m mark) bool {
		return m.origin == origin || !now.Before(m.until)
	})
	e.marks = append(e.marks, mark{origin, now.Add(d)})
}

func (e *entry) unmark(origin string) {
	e.marks = slices.DeleteFunc(e.marks, func(m mark) bool { return m.origin == origin })
}

func (e *entry) markedByOther(origin string, now time.Time) bool {
	return slices.ContainsFunc(e.marks, func(m mark) bool {
		return m.origin != origin && now.Before(m.until)
	})
}

func (e *entry) marked(now time.Time) bool {
	return slices.ContainsFunc(e.marks, func(m mark) bool { return now.Before(m.until) })
}

// table keeps the entries in a slice, which makes room for a key without an
// allocation and lets a hand walk round it in small steps to find the expired
// ones that nobody touches again. Pointers into it end with the next change.
type table struct {
	index   map[string]int // key -> place in entries
	entries []entry
	hand    int
}

func newTable() table { return table{index: map[string]int{}} }

func (t *table) find(key string) *entry {
	i, ok := t.index[key]
	if !ok {
		return nil
	}
	return &t.entries[i]
}

func (t *table) add(key string) *entry {
	t.index[key] = len(t.entries)
	t.entries = append(t.entries, entry{key: key})
	return &t.entries[len(t.entries)-1]
}

// free ends the hold of key, and forgets the key unless somebody waits for it.
func (t *table) free(key string, now time.Time) {
	i := t.index[key]
	e := &t.entries[i]
	if !e.marked(now) {
		t.drop(i)
		return
	}
	e.taken, e.value, e.token, e.expiry = false, "", 0, time.Time{}
}

// sweep moves the hand on by a few entries and drops those that are dead.
func (t *table) sweep(now time.Time) {
	for range sweepPerAcquire {
		if t.hand >= len(t.entries) {
			t.hand = 0
		}
		if len(t.entries) == 0 {
			return
		}
		if e := &t.entries[t.hand]; e.held(now) || e.marked(now) {
			t.hand++
		} else {
			t.drop(t.hand)
		}
	}
}

// drop forgets entry i; the last entry moves to its place.
func (t *table) drop(i int) {
	last := len(t.entries) - 1
	delete(t.index, t.entries[i].key)
	if i != last {
		t.entries[i] = t.entries[last]
		t.index[t.entries[i].key] = i
	}
	t.entries[last] = entry{}
	t.entries = t.entries[:last]
	if c := cap(t.entries); c > smallTable && last < c/4 {
		t.shrink()
	}
}

// shrink gives back what a burst of keys has left: neither a slice nor a map
// does so by itself.
func (t *table) shrink() {
	t.entries = append(make([]entry, 0, 2*len(t.entries)), t.entries...)
	index := make(map[string]int, len(t.entries))
	for i := range t.entries {
		index[t.entries[i].key] = i
	}
	t.index = index
}
