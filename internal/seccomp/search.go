package seccomp

import (
	"maps"
	"slices"
)

// asked is how many numbers gVisor asks a program about, whenever a process or a thread begins.
const asked = 2001

// span is a range of numbers, up to the next one, for which the program goes on at the same place. It is found by where
// it begins, and each of the numbers in it that are somewhere else by a step of its own.
type span struct {
	first, last uint32
	to          label
	except      []span // of a single number each
}

// spansOf cover all numbers there are. The last one is everything above the rules.
func (a *assembly) spansOf(rules map[uint32][]Rule) []span {
	var all []span
	for number := range slices.Max(slices.Collect(maps.Keys(rules))) + 2 {
		all = extend(all, span{first: number, last: number, to: a.decide(optionsOf(rules[number]), word{})})
	}
	return all
}

// extend adds the next number to a span before it, if only single numbers are between: they are found by fewer steps as
// exceptions, one for each, than as spans, one for each and one for what begins anew after them.
func extend(all []span, next span) []span {
	for i, before := range slices.Backward(all) {
		if before.to == next.to {
			before.last = next.last
			before.except = append(before.except, all[i+1:]...)
			return append(all[:i], before)
		}
		if before.first != before.last {
			break
		}
	}
	return append(all, next)
}

// search finds the span of the number that is loaded. Each step leaves as near to half of the numbers below the limit as
// there is a span that begins there.
func (a *assembly) search(all []span, limit uint32) label {
	if len(all) == 1 {
		return a.except(all[0])
	}
	half := 1
	for half+1 < len(all) && all[half].first+all[half+1].first <= all[0].first+limit {
		half++
	}
	above := a.search(all[half:], limit)
	return a.branch(jumpAtLeast, all[half].first, above, a.search(all[:half], all[half].first))
}

func (a *assembly) except(s span) label {
	next := s.to
	for _, single := range s.except {
		next = a.branch(jumpEqual, single.first, single.to, next)
	}
	return next
}
