package seccomp

import (
	"math/rand/v2"
	"testing"
)

// TestAnyRules compares programs of unusual rules with what the rules mean: halves and bits of arguments in
// every mixture, conditions that contradict each other, that never or always hold, and numbers in any order.
func TestAnyRules(t *testing.T) {
	for range 500 {
		rules := map[uint32][]Rule{}
		for range 1 + rand.IntN(12) {
			rules[rand.Uint32N(16)] = anyRules()
		}
		program, err := assemble(1, rules)
		if err != nil {
			t.Fatal(err)
		}
		for number := range uint32(18) {
			for range 40 {
				args := anyArgs(rules[number])
				said, meant := obey(program, call{number: number, arch: 1, args: args}), judge(rules[number], "", "it", args)
				if said != meant {
					t.Fatalf("%+v: %d %x: the program says %#x, and the rules mean %#x", rules, number, args, said, meant)
				}
			}
		}
	}
}

func anyRules() []Rule {
	masks := []uint64{allBits, 0xFFFFFFFF, 0xFFFFFFFF << 32, 0xFF00, 0x0F00, 2, 1 << 32, 3<<32 | 3, 0}
	var all []Rule
	for range 1 + rand.IntN(4) {
		r := Rule{Names: calls("it"), Errno: rand.UintN(3)}
		for range rand.IntN(4) {
			mask := masks[rand.IntN(len(masks))]
			value := mask & (rand.Uint64N(4)<<32 | rand.Uint64N(4)<<8 | rand.Uint64N(4))
			if rand.IntN(16) == 0 {
				value++ // which may be out of the mask
			}
			r.Args = append(r.Args, Arg{Index: rand.UintN(2), Mask: mask, Value: value})
			if rand.IntN(3) == 0 {
				r.Args[len(r.Args)-1] = Arg{Index: rand.UintN(2), Mask: mask & lower, OneOf: anyChoice()}
			}
		}
		all = append(all, r)
	}
	return all
}

// anyChoice has rows of numbers and single ones in it, now and then the lowest and the highest.
func anyChoice() *Choice {
	var all Choice
	for next := rand.Uint64N(3); next <= lower && len(all) < 8; next += 1 + rand.Uint64N(2)*rand.Uint64N(1<<(4+rand.IntN(29))) {
		all = append(all, Named{Value: uint32(next)})
	}
	if rand.IntN(4) == 0 && all[len(all)-1].Value != lower {
		all = append(all, Named{Value: lower})
	}
	return &all
}

// anyArgs are near to what rules ask for.
func anyArgs(rules []Rule) (args [6]uint64) {
	for _, i := range rand.Perm(len(rules)) {
		for _, a := range rules[i].Args {
			values := near(a)
			if rand.IntN(3) > 0 {
				args[a.Index] = values[rand.IntN(min(len(values), 3+rand.IntN(len(values))))]
			}
		}
	}
	return args
}

// TestReach: conditional jumps leave out 255 steps at most, and reach further by way of plain ones. What the kernel does
// not take is refused.
func TestReach(t *testing.T) {
	for steps, fits := range map[int]bool{10: true, 255: true, 256: true, 257: true, 258: true, 1000: true, 4090: true, 4097: false} {
		a := newAssembly()
		for i := range steps - 2 {
			a.answer(uint32(i))
		}
		a.before(a.branch(jumpAtLeast, 5, label(1), a.branch(jumpEqual, 4, label(1), label(2))), load, numberAt)
		program, err := a.program()
		if (err == nil) != fits {
			t.Errorf("%d steps: %v", steps, err)
		}
		if !fits {
			continue
		}
		for number, want := range map[uint32]uint32{5: 0, 4: 0, 3: 1} {
			if said := obey(program, call{number: number}); said != want {
				t.Errorf("%d steps: %d is told %d", steps, number, said)
			}
		}
	}
}

// TestNextSteps: a step that changes the register goes on with the next one, also where that one is already elsewhere,
// or has been jumped to before.
func TestNextSteps(t *testing.T) {
	a := newAssembly()
	shared := a.before(a.branch(jumpEqual, 6, a.answer(8), a.answer(9)), and, 7)
	a.answer(1)
	first := a.before(shared, load, archAt)
	a.answer(2)
	a.before(a.branch(jumpAtLeast, 20, first, a.before(shared, load, numberAt)), load, numberAt)
	program, err := a.program()
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[call]uint32{
		{number: 6}: 8, {number: 15}: 9, {number: 14}: 8, {number: 20, arch: 14}: 8, {number: 22, arch: 7}: 9,
	} {
		if said := obey(program, c); said != want {
			t.Errorf("%+v: %d", c, said)
		}
	}
}
