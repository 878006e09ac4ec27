package seccomp

import (
	"maps"
	"slices"
)

// asked is how many numbers gVisor asks a program about whenever a process or a thread begins.
const asked = 2001

// span is a range of numbers for which the program goes on at the same place. It reaches up to the next span. The
// search finds it by its first number. Single numbers in it may lead elsewhere. Each of these takes a step of its own.
type span struct {
	first, last uint32
	to          label
	except      []span // spans of a single number
}

// spansOf returns spans that cover all numbers. The last span holds every number above the rules.
func (a *assembly) spansOf(rules map[uint32][]Rule) []span {
	var all []span
	for number := range slices.Max(slices.Collect(maps.Keys(rules))) + 2 {
		all = extend(all, span{first: number, last: number, to: a.decide(optionsOf(rules[number]), word{})})
	}
	return all
}

// extend adds the next number to an earlier span that leads to the same place, if only single numbers lie between. As
// exceptions these numbers take one step each. As spans they would take one step each, and one more for the span that
// begins anew after them.
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

// search writes the steps that find the span of the loaded number. Each step halves the numbers below the limit, as
// nearly as the beginnings of the spans allow.
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
