package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"
)

// call is what the kernel shows a filter, struct seccomp_data.
type call struct {
	number, arch uint32
	place        uint64
	args         [6]uint64
}

// obey is what a program says about a call.
func obey(program []byte, c call) uint32 {
	said, _ := run(program, c)
	return said
}

// run obeys a program as the kernel does, and counts the steps that it takes. The instructions are looked up in the
// kernel's own header (linux/bpf_common.h), and not in the assembler. A program that leaves its bounds panics.
func run(program []byte, c call) (said uint32, steps int) {
	memory := binary.LittleEndian.AppendUint32(make([]byte, 0, 64), c.number)
	memory = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(memory, c.arch), c.place)
	for _, arg := range c.args {
		memory = binary.LittleEndian.AppendUint64(memory, arg)
	}
	register := uint32(0)
	for at := 0; ; at += 8 {
		steps++
		operand := binary.LittleEndian.Uint32(program[at+4:])
		jumps := func(condition bool) { at += 8 * int(program[at+3-truth(condition)]) }
		switch code := binary.LittleEndian.Uint16(program[at:]); code {
		case 0x20: // BPF_LD, BPF_W, BPF_ABS
			register = binary.LittleEndian.Uint32(memory[operand:])
		case 0x04 | 0x50: // BPF_AND
			register &= operand
		case 0x05: // BPF_JMP, BPF_JA
			at += 8 * int(operand)
		case 0x05 | 0x10: // BPF_JEQ
			jumps(register == operand)
		case 0x05 | 0x30: // BPF_JGE
			jumps(register >= operand)
		case 0x05 | 0x40: // BPF_JSET
			jumps(register&operand != 0)
		case 0x06: // BPF_RET
			return operand, steps
		default:
			panic(code)
		}
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// judge says what the rules mean, and knows nothing of programs: the first one that fits, or EPERM.
func judge(rules []Rule, arch, name string, args [6]uint64) uint32 {
	for _, r := range rules {
		if r.Arch != "" && r.Arch != arch || !slices.Contains(r.Names, name) {
			continue
		}
		if slices.ContainsFunc(r.Args, func(a Arg) bool { return !fits(a, args[a.Index]&a.Mask) }) {
			continue
		}
		if r.Errno == 0 {
			return 0x7FFF0000 // SECCOMP_RET_ALLOW
		}
		return 0x00050000 + uint32(r.Errno) // SECCOMP_RET_ERRNO
	}
	return 0x00050001
}

func fits(a Arg, value uint64) bool {
	if a.OneOf == nil {
		return value == a.Value
	}
	for _, n := range *a.OneOf {
		if uint64(n.Value) == value {
			return true
		}
	}
	return false
}

// audits are the kernel's AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64.
var audits = map[string]uint32{"amd64": 62 | 1<<31 | 1<<30, "arm64": 183 | 1<<31 | 1<<30}

func programOf(t *testing.T, f Filter) []byte {
	t.Helper()
	program, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// asker asks rules and program at once whether a call is allowed.
func asker(t *testing.T, f Filter) func(name string, args ...uint64) bool {
	t.Helper()
	program, numbers := programOf(t, f), systemNumbers(t, f.Arch)
	return func(name string, args ...uint64) bool {
		t.Helper()
		c := call{number: numbers[name], arch: audits[f.Arch]}
		copy(c.args[:], args)
		said, meant := obey(program, c), judge(f.Rules(), f.Arch, name, c.args)
		if said != meant {
			t.Errorf("%s: %s%x: the program says %#x, and the rules mean %#x", f.Arch, name, c.args, said, meant)
		}
		return said == 0x7FFF0000
	}
}
