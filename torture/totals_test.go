package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// totals count what happened.
type totals struct {
	rounds, sections, losses, rejected, overlaps int
	longest                                      time.Duration // overlap, beyond TTL/3
	settled                                      time.Duration // last fault to last waiter's entry
	faults                                       map[string]int
}

func (s *totals) count(history []*section) {
	s.rounds++
	s.sections += len(history)
	for _, h := range history {
		if h.lost {
			s.losses++
		}
		if h.wroteAt != 0 && !h.writeOK {
			s.rejected++
		}
	}
}

func (s *totals) add(o totals) {
	s.rounds += o.rounds
	s.sections += o.sections
	s.losses += o.losses
	s.rejected += o.rejected
	s.settled = max(s.settled, o.settled)
	if o.overlaps > 0 {
		s.overlap(o.longest)
		s.overlaps += o.overlaps - 1
	}
	if s.faults == nil {
		s.faults = map[string]int{}
	}
	for name, n := range o.faults {
		s.faults[name] += n
	}
}

// overlap counts one, by how much longer it was than TTL/3.
func (s *totals) overlap(excess time.Duration) {
	if s.overlaps == 0 || excess > s.longest {
		s.longest = excess
	}
	s.overlaps++
}

func (s *totals) String() string {
	var faults []string
	for name, n := range s.faults {
		faults = append(faults, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(faults)
	text := fmt.Sprintf("%d rounds, %d critical sections, %d losses seen, %d stale writes rejected, %d overlaps where keys were given up",
		s.rounds, s.sections, s.losses, s.rejected, s.overlaps)
	if s.overlaps > 0 {
		text += fmt.Sprintf(" (the longest: TTL/3 %+d ms)", s.longest.Milliseconds())
	}
	return text + fmt.Sprintf(", all waiters in %v after the last fault\nfaults: %s",
		s.settled.Round(time.Millisecond), strings.Join(faults, ", "))
}
