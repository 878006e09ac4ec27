package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The instructions of the kernel's filters (BPF) that are needed here, by what they do with the one register.
const (
	load        = 0x20 // from the description of the call
	and         = 0x54
	jump        = 0x05
	jumpEqual   = 0x15
	jumpAtLeast = 0x35
	jumpAnyBit  = 0x45
	end         = 0x06 // with an answer
)

const (
	stepSize = 8
	maxSteps = 4096 // that the kernel takes (BPF_MAXINSNS)
	reach    = 255  // steps that a conditional jump can leave out
)

// step is one instruction, struct sock_filter.
type step struct {
	code    uint16
	yes, no uint8 // how many steps a conditional jump leaves out
	value   uint32
}

// place is a step, as the number of steps from it to the end.
type place int

// assembly is a program that is written from its end to its beginning. Jumps go forward only, so that what one leads to
// is always there already.
type assembly struct {
	steps   []step           // the last one first
	answers map[uint32]place // the nearest of each
}

func newAssembly() *assembly { return &assembly{answers: map[uint32]place{}} }

// put writes a step, behind which the program goes on with the step that was put before.
func (a *assembly) put(s step) place {
	a.steps = append(a.steps, s)
	return place(len(a.steps))
}

func (a *assembly) load(at uint32) place { return a.put(step{code: load, value: at}) }

func (a *assembly) mask(mask uint32) {
	if mask != 1<<32-1 {
		a.put(step{code: and, value: mask})
	}
}

// answer is a place that ends the program.
func (a *assembly) answer(value uint32) place {
	if _, ok := a.answers[value]; !ok {
		a.answers[value] = a.put(step{code: end, value: value})
	}
	return a.answers[value]
}

func (a *assembly) branch(code uint16, value uint32, yes, no place) place {
	yes = a.near(yes, reach-1) // no may take a step
	no = a.near(no, reach)
	return a.put(step{code, uint8(a.between(yes)), uint8(a.between(no)), value})
}

// between is how many steps the next one leaves out to get to a place.
func (a *assembly) between(to place) int { return len(a.steps) - int(to) }

// near is a place within reach of the next step that leads to the same: an answer once more, or a jump without a
// condition, which has no such bound.
func (a *assembly) near(to place, reach int) place {
	if a.between(to) <= reach {
		return to
	}
	if s := a.steps[to-1]; s.code == end {
		a.answers[s.value] = a.put(s)
		return a.answers[s.value]
	}
	return a.put(step{code: jump, value: uint32(a.between(to))})
}

// program is what was written, as the kernel has it in memory.
func (a *assembly) program() ([]byte, error) {
	if len(a.steps) > maxSteps {
		return nil, fmt.Errorf("the system call filter has %d steps, and the kernel takes %d", len(a.steps), maxSteps)
	}
	var all []byte
	for _, s := range slices.Backward(a.steps) {
		all = binary.LittleEndian.AppendUint16(all, s.code)
		all = append(all, s.yes, s.no)
		all = binary.LittleEndian.AppendUint32(all, s.value)
	}
	return all, nil
}
