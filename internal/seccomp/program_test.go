package seccomp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// everyFilter is all that there can be.
func everyFilter(test func(Filter)) {
	for arch := range architectures {
		test(Filter{Arch: arch})
	}
}

// TestProgramSaysWhatTheRulesMean asks both of every number, with arguments that each bit of a rule decides about.
func TestProgramSaysWhatTheRulesMean(t *testing.T) {
	everyFilter(func(f Filter) {
		program, names := programOf(t, f), map[uint32]string{}
		for name, number := range systemNumbers(t, f.Arch) {
			names[number] = name
		}
		for number := range uint32(600) {
			rules := slices.DeleteFunc(f.Rules(), func(r Rule) bool { return !slices.Contains(r.Names, names[number]) })
			for _, args := range interesting(rules) {
				said, meant := obey(program, call{number, audits[f.Arch], 0, args}), judge(rules, f.Arch, names[number], args)
				if said != meant {
					t.Fatalf("%+v: %d (%s) %x: the program says %#x, and the rules mean %#x", f, number, names[number], args, said, meant)
				}
				slices.Reverse(rules)
				if reverse := judge(rules, f.Arch, names[number], args); reverse != meant {
					t.Fatalf("%s %x: the rules mean %#x, and %#x in the other order, which a Profile does not have", names[number], args, meant, reverse)
				}
			}
		}
	})
}

// interesting are arguments that fit, or miss by one bit, in combinations of those that the rules look at: in every one where
// they are not too many, and otherwise in another choice of them each time.
func interesting(rules []Rule) [][6]uint64 {
	values := [6][]uint64{}
	for _, r := range rules {
		for _, a := range r.Args {
			values[a.Index] = append(values[a.Index], near(a)...)
		}
	}
	const enough = 30_000
	all := [][6]uint64{{}}
	for i := range values {
		var longer [][6]uint64
		slices.Sort(values[i])
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(len(all), enough/(len(values[i])+2)+1)]
		for _, value := range append(slices.Compact(values[i]), 0, rand.Uint64()) {
			for _, args := range all {
				args[i] = value
				longer = append(longer, args)
			}
		}
		all = longer
		if values[i] == nil {
			all = longer[len(longer)/2:] // no rule looks at this argument: one value is enough
		}
	}
	return all
}

// near is what fits a condition, with its free bits in three ways, and with each of its own bits turned.
func near(a Arg) (all []uint64) {
	if a.OneOf != nil {
		for _, n := range *a.OneOf {
			one := Arg{a.Index, a.Mask, uint64(n.Value) & a.Mask, nil}
			all = append(all, uint64(n.Value), uint64(n.Value)+1, uint64(n.Value)-1, near(one)[rand.IntN(3)])
		}
		all = append(all, a.Mask+1, rand.Uint64())
		return all
	}
	all = []uint64{a.Value, a.Value | ^a.Mask, a.Value | rand.Uint64()&^a.Mask}
	for bit := range 64 {
		if a.Mask>>bit&1 == 1 {
			all = append(all, a.Value^1<<bit)
		}
	}
	return all
}

// TestOtherNumbers: none is known that the rules do not name. Those of x32 have a bit of their own beside the number.
func TestOtherNumbers(t *testing.T) {
	everyFilter(func(f Filter) {
		program := programOf(t, f)
		for range 10_000 {
			number := max(rand.Uint32()>>(rand.Uint32()%23), 600)
			if said := obey(program, call{number: number, arch: audits[f.Arch]}); said != 0x00050001 {
				t.Fatalf("%+v: %#x: the program says %#x", f, number, said)
			}
		}
		for number := range uint32(600) {
			for _, other := range []uint32{number | 1<<30, number | 1<<31, ^number} {
				if said := obey(program, call{number: other, arch: audits[f.Arch]}); said != 0x00050001 {
					t.Fatalf("%+v: %#x: the program says %#x", f, other, said)
				}
			}
		}
	})
}

// TestOtherArchitectures are killed, whatever they ask for: i386, ARM, RISC-V, and the big-endian twin.
func TestOtherArchitectures(t *testing.T) {
	everyFilter(func(f Filter) {
		program := programOf(t, f)
		all := []uint32{0x40000003, 0x40000028, 0xC00000F3, 0x800000B7, 0, allBits & 0xFFFFFFFF}
		for arch, audit := range audits {
			if arch != f.Arch {
				all = append(all, audit)
			}
		}
		for _, arch := range all {
			for number := range uint32(600) {
				if said := obey(program, call{number: number, arch: arch}); said != 0x80000000 { // SECCOMP_RET_KILL_PROCESS
					t.Fatalf("%+v: %d of %#x: the program says %#x", f, number, arch, said)
				}
			}
		}
	})
	if _, err := (Filter{Arch: "riscv64"}).Program(); err == nil {
		t.Error("an architecture that nobody has thought about has a program")
	}
}

// TestNoWayOutInTheProgram holds the lists of the rules' tests against what is made of the rules.
func TestNoWayOutInTheProgram(t *testing.T) {
	for arch := range architectures {
		allowed, numbers := asker(t, Filter{Arch: arch}), systemNumbers(t, arch)
		for _, name := range never {
			if _, ok := numbers[name]; !ok {
				continue // of another architecture, or of a kernel long ago
			}
			for _, arg := range []uint64{0, 1, 2, allBits} {
				if allowed(name, arg, arg, arg, arg, arg, arg) {
					t.Errorf("%s: %s is allowed", arch, name)
				}
			}
		}
		for _, name := range guarded {
			const all = allBits
			_, ok := numbers[name]
			if ok && allowed(name, 0, 0, 0, 0, 0, 0) && allowed(name, all, all, all, all, all, all) {
				t.Errorf("%s: %s is allowed whatever its arguments", arch, name)
			}
		}
	}
}

// TestProgramIsShort: gVisor asks it about each of so many numbers for every process and thread that begins, and every
// time it takes memory for a mark at each step. What a new rule needs may be added here, and is: a step that hangs off one
// number costs the others nothing but that memory, a microsecond for all numbers together.
func TestProgramIsShort(t *testing.T) {
	everyFilter(func(f Filter) {
		program, all := programOf(t, f), 0
		for number := range uint32(2001) {
			_, steps := run(program, call{number: number, arch: audits[f.Arch]})
			all += steps
		}
		length, mean := len(program)/8, float64(all)/2001
		t.Logf("%+v: %d steps, of which a call takes %.2f", f, length, mean)
		if length > 325 || mean > 7 {
			t.Errorf("%+v: %d steps, of which a call takes %.2f", f, length, mean)
		}
	})
}
