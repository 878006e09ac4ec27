package seccomp

import (
	"fmt"
	"maps"
	"slices"
)

// What a program answers about a call. A refusal has the error in its lower half.
const (
	pass   = 0x7FFF0000
	refuse = 0x00050000
	kill   = 0x80000000 // the whole process
	eperm  = 1
)

// Where a program finds what it asks for: a call's number, the architecture that it was made for, and the arguments.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16
	argSize  = 8
)

// machines are the kernel's names for architectures.
var machines = map[string]uint32{"amd64": 0xC000003E, "arm64": 0xC00000B7}

// Program is the filter as the kernel takes it: steps of struct sock_filter. A call that was made for another architecture
// kills the process. A number that no rule has is refused, whatever it is: also those of x32, the kernel's third set of
// calls on amd64.
func (f Filter) Program() ([]byte, error) {
	rules, err := f.byNumber()
	if err != nil {
		return nil, err
	}
	a := newAssembly()
	a.search(spansOf(rules))
	known := a.load(numberAt)
	a.branch(jumpEqual, machines[f.Arch], known, a.answer(kill))
	a.load(archAt)
	return a.program()
}

// byNumber are the rules of each call, in their order.
func (f Filter) byNumber() (map[uint32][]Rule, error) {
	numbers, err := numbersOf(f.Arch)
	if err != nil {
		return nil, err
	}
	all := map[uint32][]Rule{}
	for _, r := range f.Rules() {
		if r.Arch != "" && r.Arch != f.Arch {
			continue
		}
		for _, name := range r.Names {
			number, ok := numbers[name]
			if !ok {
				return nil, fmt.Errorf("nobody knows the number that %s has on %s", name, f.Arch)
			}
			all[number] = append(all[number], r)
		}
	}
	return all, nil
}

// span is a range of numbers, up to the next one, about which the same is to be said.
type span struct {
	first uint32
	rules []Rule // in the order in which they are tried; where none fits, the call is refused
}

// constant is the answer of rules that need not look at the arguments.
func (s span) constant() (answer uint32, ok bool) {
	switch {
	case len(s.rules) == 0:
		return refuse | eperm, true
	case len(s.rules[0].Args) == 0:
		return s.rules[0].answer(), true
	}
	return 0, false
}

// spansOf cover all numbers there are. The last one is everything above the rules.
func spansOf(rules map[uint32][]Rule) []span {
	var all []span
	for number := range slices.Max(slices.Collect(maps.Keys(rules))) + 2 {
		if next := (span{number, rules[number]}); len(all) == 0 || !all[len(all)-1].covers(next) {
			all = append(all, next)
		}
	}
	return all
}

// covers says that of the next span nothing else is to be said.
func (s span) covers(next span) bool {
	answer, constant := s.constant()
	same, too := next.constant()
	return constant && too && answer == same
}

func (r Rule) answer() uint32 {
	if r.Errno == 0 {
		return pass
	}
	return refuse | uint32(r.Errno)
}

// search finds the span of the number that is loaded, by halves.
func (a *assembly) search(spans []span) place {
	if len(spans) == 1 {
		return a.decide(spans[0])
	}
	middle := len(spans) / 2
	above := a.search(spans[middle:])
	return a.branch(jumpAtLeast, spans[middle].first, above, a.search(spans[:middle]))
}

// decide tries one rule after the other.
func (a *assembly) decide(s span) place {
	if answer, ok := s.constant(); ok {
		return a.answer(answer)
	}
	next := a.answer(refuse | eperm)
	for _, r := range slices.Backward(s.rules) {
		next = a.rule(r, next)
	}
	return next
}

// rule answers if all of its conditions hold.
func (a *assembly) rule(r Rule, otherwise place) place {
	next := a.answer(r.answer())
	for _, arg := range slices.Backward(r.Args) {
		next = a.condition(arg, next, otherwise)
	}
	return next
}

// condition looks at an argument by its halves, the lower of which comes first in memory.
func (a *assembly) condition(arg Arg, yes, no place) place {
	at := argsAt + argSize*uint32(arg.Index)
	yes = a.half(at+argSize/2, uint32(arg.Mask>>32), uint32(arg.Value>>32), yes, no)
	return a.half(at, uint32(arg.Mask), uint32(arg.Value), yes, no)
}

// half compares with a jump that looks at single bits where all of them are to be 0.
func (a *assembly) half(at, mask, value uint32, yes, no place) place {
	switch {
	case mask == 0 && value == 0:
		return yes
	case value == 0:
		a.branch(jumpAnyBit, mask, no, yes)
	default:
		a.branch(jumpEqual, value, yes, no)
		a.mask(mask)
	}
	return a.load(at)
}
