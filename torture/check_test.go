package torture

import (
	"cmp"
	"fmt"
	"slices"
)

// byKey sorts a history into one per key, each by the time of entry.
func byKey(history []*section) map[string][]*section {
	keys := map[string][]*section{}
	for _, s := range history {
		keys[s.key] = append(keys[s.key], s)
	}
	for _, all := range keys {
		slices.SortFunc(all, func(a, b *section) int { return cmp.Compare(a.enter, b.enter) })
	}
	return keys
}

// overlap is a time for which two locks of a key were live.
type overlap struct {
	a, b   *section // a came first
	length int64
}

func (o overlap) String() string {
	return fmt.Sprintf("%d ns of %+v and %+v", o.length, *o.a, *o.b)
}

func overlaps(sorted []*section) (found []overlap) {
	var open []*section
	for _, s := range sorted {
		open = slices.DeleteFunc(open, func(o *section) bool { return o.last < s.enter })
		for _, o := range open {
			found = append(found, overlap{o, s, min(o.last, s.last) - s.enter})
		}
		open = append(open, s)
	}
	return found
}

// fallenTokens are pairs of which the second got no larger token although it
// asked only after the first had entered, by more than grace: for so long a node
// whose key was taken away may hand its lease over without knowing. Such tokens
// have to be low, so that the register refuses them.
func fallenTokens(sorted []*section, grace int64) (found []string) {
	asked := slices.Clone(sorted)
	slices.SortFunc(asked, func(a, b *section) int { return cmp.Compare(a.asked, b.asked) })
	var top *section
	next := 0
	for _, s := range asked {
		for ; next < len(sorted) && sorted[next].enter+grace < s.asked; next++ {
			if top == nil || sorted[next].token > top.token {
				top = sorted[next]
			}
		}
		if top != nil && s.token <= top.token {
			found = append(found, fmt.Sprintf("%+v, and then %+v", *top, *s))
		}
	}
	seen := map[uint64]*section{}
	for _, s := range sorted {
		if o := seen[s.token]; o != nil {
			found = append(found, fmt.Sprintf("the same: %+v and %+v", *o, *s))
		}
		seen[s.token] = s
	}
	return found
}

// staleWrites are accepted writes that did not know of the one before.
func staleWrites(sorted []*section) (found []string) {
	var writes []*section
	for _, s := range sorted {
		if s.writeOK {
			writes = append(writes, s)
		}
	}
	slices.SortFunc(writes, func(a, b *section) int { return cmp.Compare(a.order, b.order) })
	last := &section{}
	for _, s := range writes {
		if s.readVal != last.written || s.token < last.token {
			found = append(found, fmt.Sprintf("%+v after %+v", *s, *last))
		}
		last = s
	}
	return found
}
