// Package agenda keeps entries by when they are due, the first one at hand. It
// is container/heap with types and with places that entries carry themselves.
package agenda

import (
	"container/heap"
	"time"
)

// Slot is an entry's place in an agenda, for an entry to embed. The zero value
// is in none.
type Slot struct {
	at    time.Time
	place int // from 1 on; 0 outside
}

// Due is the time that the entry was last set to.
func (s *Slot) Due() time.Time { return s.at }

// Listed says whether the entry is in an agenda.
func (s *Slot) Listed() bool { return s.place > 0 }

func (s *Slot) slot() *Slot { return s }

// Entry is what embeds a Slot, by pointer.
type Entry interface {
	comparable
	slot() *Slot
}

// Agenda is a set of entries. The zero value is empty. It is not safe for
// concurrent use.
type Agenda[E Entry] struct{ entries entries[E] }

// Len is the number of entries.
func (a *Agenda[E]) Len() int { return len(a.entries) }

// First is the entry that is due first, the zero value when there is none.
func (a *Agenda[E]) First() (first E) {
	if len(a.entries) > 0 {
		first = a.entries[0]
	}
	return first
}

// Due is when the first entry is, the zero time for never.
func (a *Agenda[E]) Due() time.Time {
	if len(a.entries) == 0 {
		return time.Time{}
	}
	return a.entries[0].slot().at
}

// Set moves e to its place for at, or puts it in.
func (a *Agenda[E]) Set(e E, at time.Time) {
	s := e.slot()
	s.at = at
	if s.place == 0 {
		heap.Push(&a.entries, e)
		return
	}
	heap.Fix(&a.entries, s.place-1)
}

// Remove takes e out and reports whether it was in.
func (a *Agenda[E]) Remove(e E) bool {
	i := e.slot().place - 1
	if i < 0 || i >= len(a.entries) || a.entries[i] != e {
		return false
	}
	heap.Remove(&a.entries, i)
	return true
}

// entries implements heap.Interface.
type entries[E Entry] []E

func (s entries[E]) Len() int           { return len(s) }
func (s entries[E]) Less(i, j int) bool { return s[i].slot().at.Before(s[j].slot().at) }

func (s entries[E]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot().place, s[j].slot().place = i+1, j+1
}

// Push implements heap.Interface.
func (s *entries[E]) Push(x any) {
	*s = append(*s, x.(E))
	x.(E).slot().place = len(*s)
}

// Pop implements heap.Interface.
func (s *entries[E]) Pop() any {
	var none E
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = none
	*s = (*s)[:last]
	e.slot().place = 0
	return e
}
