package seccomp

import (
	"math/bits"
	"slices"
)

// word is the content of the register: where it was loaded from, and the mask that was put on it.
type word struct{ at, mask uint32 }

const whole = 1<<32 - 1

// test is a question that a few steps answer: does a word have a value, or one of several? An Arg is one for each
// half of the argument.
type test struct {
	word
	value uint32
	among *Choice
}

// option is a Rule as a program sees it: an answer, if all tests hold.
type option struct {
	tests  []test
	answer uint32
}

// optionsOf are the rules of one call in their order, without those that never fit.
func optionsOf(rules []Rule) []option {
	var all []option
	for _, r := range rules {
		if !slices.ContainsFunc(r.Args, func(a Arg) bool { return a.Value&^a.Mask != 0 }) {
			all = append(all, r.option())
		}
	}
	return all
}

// option asks for the upper halves last, and for the first one's at the very end: what is asked there is the same for
// most rules, and is written once for all of them.
func (r Rule) option() option {
	o := option{answer: refuse | uint32(r.Errno)}
	if r.Errno == 0 {
		o.answer = pass
	}
	for i, a := range r.Args {
		at := argsAt + argSize*uint32(a.Index)
		lower := test{word: word{at, uint32(a.Mask)}, value: uint32(a.Value), among: a.OneOf}
		upper := test{word: word{at + argSize/2, uint32(a.Mask >> 32)}, value: uint32(a.Value >> 32)}
		o.tests = slices.Insert(o.tests, i, lower, upper)
	}
	o.tests = slices.DeleteFunc(o.tests, func(t test) bool { return t.mask == 0 && t.among == nil })
	return o
}

// decide is the answer of the first option that fits. It makes the first test of the first one, and goes on with what is
// still to be asked about all of them when it holds, and when it does not.
func (a *assembly) decide(options []option, held word) label {
	switch {
	case len(options) == 0:
		return a.answer(refuse | eperm)
	case len(options[0].tests) == 0:
		return a.answer(options[0].answer)
	}
	t := options[0].tests[0]
	holds := t.register(held)
	yes, no := a.decide(when(t, options), holds), a.decide(unless(t, options), holds)
	return a.hold(holds, held, a.compare(t, holds, yes, no))
}

// when are the options that are left where a test holds: other tests of the same word may be decided with it.
func when(t test, options []option) []option {
	var left []option
	for _, o := range options {
		if slices.ContainsFunc(o.tests, t.excludes) {
			continue
		}
		o.tests = slices.DeleteFunc(slices.Clone(o.tests), t.implies)
		left = append(left, o)
	}
	return left
}

// unless are the options that are left where it does not. A single bit then has the other value.
func unless(t test, options []option) []option {
	if t.single() {
		t.value ^= t.mask
		return when(t, options)
	}
	return slices.DeleteFunc(slices.Clone(options), func(o option) bool { return slices.Contains(o.tests, t) })
}

// excludes says that u fails where t holds, and implies that u holds there. Of a test for several values only
// identity is recognised; any other such test is made again.
func (t test) excludes(u test) bool {
	return t.among == nil && u.among == nil && u.at == t.at && (u.value^t.value)&u.mask&t.mask != 0
}

func (t test) implies(u test) bool {
	return t == u || t.among == nil && u.among == nil && u.at == t.at && u.mask&^t.mask == 0
}

func (t test) single() bool { return t.among == nil && bits.OnesCount32(t.mask) == 1 }

// register is the word that must be loaded for a test. Where a jump can look at bits, the others are left for later tests.
func (t test) register(held word) word {
	if held != t.word && t.among == nil && (t.value == 0 || t.single()) {
		return word{t.at, whole}
	}
	return t.word
}

func (a *assembly) compare(t test, held word, yes, no label) label {
	switch {
	case t.among != nil:
		return a.choose(*t.among, yes, no)
	case held == t.word:
		return a.branch(jumpEqual, t.value, yes, no)
	case t.value == 0:
		return a.branch(jumpAnyBit, t.mask, no, yes)
	}
	return a.branch(jumpAnyBit, t.mask, yes, no)
}

// choose finds out whether what is held is one of the values. A row of values without a gap takes two steps, and a single
// one takes one.
func (a *assembly) choose(values Choice, yes, no label) label {
	below := no
	for i := 0; i < len(values); i++ {
		first := values[i].Value
		for i+1 < len(values) && values[i+1].Value == values[i].Value+1 {
			i++
		}
		if first == values[i].Value {
			below = a.branch(jumpEqual, first, yes, below)
			continue
		}
		within := a.branch(jumpAtLeast, values[i].Value+1, no, yes)
		below = a.branch(jumpAtLeast, first, within, below)
	}
	return below
}

// hold gets a word into the register, if it is not there.
func (a *assembly) hold(want, held word, next label) label {
	if want == held {
		return next
	}
	if want.mask != whole {
		next = a.before(next, and, want.mask)
	}
	return a.before(next, load, want.at)
}
