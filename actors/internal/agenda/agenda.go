// Package agenda keeps entries by when they are due, the first one at hand. It
// is container/heap with types and with places that entries carry themselves.
package agenda

import (
	"container/heap"
	"time"
)

// Slot is an entry's place in an agenda, for an entry to embed. The zero value
// is in none.
type Slot struct{ place int } // from 1 on; 0 outside

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
type Agenda[E Entry] struct{ lines lines[E] }

// line is an entry and when it is due: here, as most entries are in no agenda
// most of the time.
type line[E Entry] struct {
	at    time.Time
	entry E
}

// Len is the number of entries.
func (a *Agenda[E]) Len() int { return len(a.lines) }

// First is the entry that is due first, the zero value when there is none.
func (a *Agenda[E]) First() (first E) {
	if len(a.lines) > 0 {
		first = a.lines[0].entry
	}
	return first
}

// Due is when the first entry is, the zero time for never.
func (a *Agenda[E]) Due() time.Time {
	if len(a.lines) == 0 {
		return time.Time{}
	}
	return a.lines[0].at
}

// Set moves e to its place for at, or puts it in.
func (a *Agenda[E]) Set(e E, at time.Time) {
	s := e.slot()
	if s.place == 0 {
		// Not heap.Push: a line is an allocation when it is passed as any.
		a.lines = append(a.lines, line[E]{entry: e})
		s.place = len(a.lines)
	}
	a.lines[s.place-1].at = at
	heap.Fix(&a.lines, s.place-1)
}

// Remove takes e out and reports whether it was in.
func (a *Agenda[E]) Remove(e E) bool {
	i := e.slot().place - 1
	in := i >= 0 && i < len(a.lines) && a.lines[i].entry == e
	if in {
		heap.Remove(&a.lines, i)
	}
	return in
}

// lines implements heap.Interface.
type lines[E Entry] []line[E]

func (s lines[E]) Len() int           { return len(s) }
func (s lines[E]) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

func (s lines[E]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].entry.slot().place, s[j].entry.slot().place = i+1, j+1
}

// Push implements heap.Interface. Set does without.
func (s *lines[E]) Push(x any) { *s = append(*s, x.(line[E])) }

// Pop implements heap.Interface.
func (s *lines[E]) Pop() any {
	last := len(*s) - 1
	e := (*s)[last].entry
	(*s)[last] = line[E]{}
	*s = (*s)[:last]
	e.slot().place = 0
	return e
}
