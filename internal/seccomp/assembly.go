package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The instructions of the kernel's filters (BPF) that this package needs. Each works on the filter's only register.
const (
	load        = 0x20 // a word from the description of the call
	and         = 0x54
	jump        = 0x05
	jumpEqual   = 0x15
	jumpAtLeast = 0x35
	jumpAnyBit  = 0x45
	end         = 0x06 // the program, with an answer
)

const (
	reach = 255  // steps that a conditional jump can skip
	most  = 4096 // steps that the kernel accepts in one program
)

// label names a step by its distance from the end of the program.
type label int

// step is one instruction, and where the program goes on after it. A conditional jump goes on in one of two ways.
type step struct {
	code    uint16
	value   uint32
	yes, no label
}

// assembly is a program that is written from its end to its beginning. Jumps go forward only, so the target of a jump
// has always been written already. Steps that do the same and go on in the same way are written only once.
type assembly struct {
	steps []step // the last one first
	known map[step]label
}

func newAssembly() *assembly { return &assembly{known: map[step]label{}} }

// put writes a step, unless the same step was written before.
func (a *assembly) put(s step) label {
	if _, ok := a.known[s]; !ok {
		a.steps = append(a.steps, s)
		a.known[s] = label(len(a.steps))
	}
	return a.known[s]
}

// answer returns the label of a step that ends the program with this value.
func (a *assembly) answer(value uint32) label { return a.put(step{code: end, value: value}) }

// branch writes a conditional jump. If the jump cannot reach a label, branch puts a plain jump to that label in
// between.
func (a *assembly) branch(code uint16, value uint32, yes, no label) label {
	if s := (step{code, value, yes, no}); a.known[s] != 0 {
		return a.known[s]
	}
	yes = a.near(yes, 2) // 2: this step, and perhaps a plain jump for no
	no = a.near(no, 1)
	return a.put(step{code, value, yes, no})
}

// near returns a label with the same effect as to. A conditional jump can still reach it after more further steps.
func (a *assembly) near(to label, more int) label {
	if len(a.steps)+more-int(to) <= reach {
		return to
	}
	between := step{code: jump, yes: to}
	if last := a.steps[to-1]; last.code == end {
		between = last // repeat the answer instead of jumping to it
	}
	if at := a.known[between]; at != 0 && len(a.steps)+more-int(at) <= reach {
		return at
	}
	delete(a.known, between)
	return a.put(between)
}

// before writes a step that changes the register and goes on at next. Such a step cannot jump. If next is not the step
// that follows it, before inserts a jump.
func (a *assembly) before(next label, code uint16, value uint32) label {
	s := step{code: code, value: value, yes: next}
	if _, ok := a.known[s]; !ok && int(next) != len(a.steps) {
		a.steps = append(a.steps, step{code: jump, yes: next})
	}
	return a.put(s)
}

// program returns the finished program, as the kernel has it in memory.
func (a *assembly) program() ([]byte, error) {
	if len(a.steps) > most {
		return nil, fmt.Errorf("the system call filter has %d steps, and the kernel takes %d", len(a.steps), most)
	}
	var all []byte
	for i, s := range slices.Backward(a.steps) {
		yes, no := byte(i-int(s.yes)), byte(i-int(s.no))
		switch s.code {
		case load, and, end:
			yes, no = 0, 0
		case jump:
			s.value, yes, no = uint32(i-int(s.yes)), 0, 0
		}
		all = binary.LittleEndian.AppendUint16(all, s.code)
		all = append(all, yes, no)
		all = binary.LittleEndian.AppendUint32(all, s.value)
	}
	return all, nil
}
