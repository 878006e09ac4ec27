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

const reach = 255 // steps that a conditional jump can leave out

// place is a step, as the number of steps from it to the end.
type place int

// step is one instruction, and where the program goes on: a conditional jump in one of two ways.
type step struct {
	code    uint16
	value   uint32
	yes, no place
}

// assembly is a program that is written from its end to its beginning. Jumps go forward only, so that what one leads to
// is always there already. Often the step itself is, too: those that do the same and go on in the same way are one.
type assembly struct {
	steps []step // the last one first
	known map[step]place
}

func newAssembly() *assembly { return &assembly{known: map[step]place{}} }

// put writes a step, unless it is there.
func (a *assembly) put(s step) place {
	if _, ok := a.known[s]; !ok {
		a.steps = append(a.steps, s)
		a.known[s] = place(len(a.steps))
	}
	return a.known[s]
}

// answer is a place that ends the program.
func (a *assembly) answer(value uint32) place { return a.put(step{code: end, value: value}) }

func (a *assembly) branch(code uint16, value uint32, yes, no place) place {
	return a.put(step{code, value, yes, no})
}

// before changes the register and goes on at a place, to which such a step cannot jump: without another one it goes on
// with the next.
func (a *assembly) before(next place, code uint16, value uint32) place {
	s := step{code: code, value: value, yes: next}
	if _, ok := a.known[s]; !ok && int(next) != len(a.steps) {
		a.steps = append(a.steps, step{code: jump, yes: next})
	}
	return a.put(s)
}

// program is what was written, as the kernel has it in memory.
func (a *assembly) program() ([]byte, error) {
	if len(a.steps) > reach {
		return nil, fmt.Errorf("the system call filter has %d steps, and its jumps reach over %d", len(a.steps), reach)
	}
	var all []byte
	for i, s := range slices.Backward(a.steps) {
		yes, no := byte(i-int(s.yes)), byte(i-int(s.no))
		switch s.code {
		case load, and, end:
			yes, no = 0, 0
		case jump:
			s.value, yes, no = uint32(yes), 0, 0
		}
		all = binary.LittleEndian.AppendUint16(all, s.code)
		all = append(all, yes, no)
		all = binary.LittleEndian.AppendUint32(all, s.value)
	}
	return all, nil
}
