package seccomp

import (
	"math/bits"
	"slices"
)

// word is the content of the register: where it was loaded from, and the mask that was applied to it.
type word struct{ at, mask uint32 }

const whole = 1<<32 - 1

// test is a question that a few steps answer: does a word have a certain value, or one of several values? An Arg
// becomes one test for each half of the argument.
type test struct {
	word
	value uint32
	among *Choice
}

// option is a Rule as a program sees it: an answer that counts if all tests hold.
type option struct {
	tests  []test
	answer uint32
}

// optionsOf returns the rules of one call as options, in their order, without rules that never fit.
func optionsOf(rules []Rule) []option {
	var all []option
	for _, r := range rules {
		if !slices.ContainsFunc(r.Args, func(a Arg) bool { return a.Value&^a.Mask != 0 }) {
			all = append(all, r.option())
		}
	}
	return all
}

// option orders the tests: the upper halves come last, and the first argument's upper half at the very end. These last
// tests are the same for most rules, so the program has them only once.
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

// decide writes steps that give the answer of the first option that fits. They make the first option's first test. Then
// they go on with the tests that remain for all options: on one path if the test holds, on another path if it fails.
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

// when returns the options that remain if a test holds. The same result may also decide other tests of the same word.
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

// unless returns the options that remain if a test fails. If the test was about a single bit, the bit then has the
// other value.
func unless(t test, options []option) []option {
	if t.single() {
		t.value ^= t.mask
		return when(t, options)
	}
	return slices.DeleteFunc(slices.Clone(options), func(o option) bool { return slices.Contains(o.tests, t) })
}

// excludes reports whether u fails if t holds. implies reports whether u holds if t holds. If a test has several
// values, implies recognises only the identical test; the program makes any other such test again.
func (t test) excludes(u test) bool {
	return t.among == nil && u.among == nil && u.at == t.at && (u.value^t.value)&u.mask&t.mask != 0
}

func (t test) implies(u test) bool {
	return t == u || t.among == nil && u.among == nil && u.at == t.at && u.mask&^t.mask == 0
}

func (t test) single() bool { return t.among == nil && bits.OnesCount32(t.mask) == 1 }

// register returns the word that must be loaded for a test. If a jump can test the bits itself, it returns the whole
// word, so that later tests can use the other bits.
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

// choose tests whether the register holds one of the values. A row of values without a gap takes two steps, and a
// single value takes one.
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

// hold gets a word into the register, unless the register holds it already.
func (a *assembly) hold(want, held word, next label) label {
	if want == held {
		return next
	}
	if want.mask != whole {
		next = a.before(next, and, want.mask)
	}
	return a.before(next, load, want.at)
}
