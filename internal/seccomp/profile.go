package seccomp

import "slices"

// Profile is a filter of one architecture. Engines and runtimes take it in this form.
type Profile struct {
	DefaultAction   string    `json:"defaultAction"`
	DefaultErrnoRet uint      `json:"defaultErrnoRet"`
	Architectures   []string  `json:"architectures"`
	Syscalls        []Syscall `json:"syscalls"`
}

// Syscall is a Rule there.
type Syscall struct {
	Names    []string     `json:"names"`
	Action   string       `json:"action"`
	ErrnoRet *uint        `json:"errnoRet,omitempty"`
	Args     []SyscallArg `json:"args,omitempty"`
}

// SyscallArg is an Arg there. With Op SCMP_CMP_MASKED_EQ Value is the mask, and ValueTwo what the argument must equal.
type SyscallArg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

const (
	actAllow = "SCMP_ACT_ALLOW"
	actErrno = "SCMP_ACT_ERRNO"
)

// syscalls are the same rule there: one for each mixture of the values that its arguments may have.
func (r Rule) syscalls() []Syscall {
	call := Syscall{Names: slices.Clone(r.Names), Action: actAllow}
	if r.Errno != 0 {
		call.Action, call.ErrnoRet = actErrno, &r.Errno
	}
	all := []Syscall{call}
	for _, a := range r.Args {
		var longer []Syscall
		for _, call := range all {
			for _, condition := range a.conditions() {
				with := call
				with.Args = append(slices.Clone(call.Args), condition.syscall())
				longer = append(longer, with)
			}
		}
		all = longer
	}
	return all
}

// conditions say the same as one of the values in each. Where two of them differ in one bit, they leave it out and are one:
// engines and runtimes take long to read each of them.
func (a Arg) conditions() []Arg {
	if a.OneOf == nil {
		return []Arg{a}
	}
	var all []Arg
	for _, n := range *a.OneOf {
		all = append(all, Arg{Index: a.Index, Mask: a.Mask, Value: uint64(n.Value)})
	}
	for bit := uint64(1); bit <= lower; bit <<= 1 {
		all = mergeAt(bit, all)
	}
	return all
}

// mergeAt makes one of every two conditions that this bit alone tells apart.
func mergeAt(bit uint64, all []Arg) []Arg {
	var merged []Arg
	for len(all) > 0 {
		a := all[0]
		all = all[1:]
		twin := slices.IndexFunc(all, func(b Arg) bool { return a.Mask&bit != 0 && b.Mask == a.Mask && b.Value == a.Value^bit })
		if twin >= 0 {
			a.Mask, a.Value = a.Mask&^bit, a.Value&^bit
			all = slices.Delete(all, twin, twin+1)
		}
		merged = append(merged, a)
	}
	return merged
}

// syscall writes plain equality with the operator that is made for it.
func (a Arg) syscall() SyscallArg {
	if a.Mask == allBits {
		return SyscallArg{Index: a.Index, Value: a.Value, Op: "SCMP_CMP_EQ"}
	}
	return SyscallArg{Index: a.Index, Value: a.Mask, ValueTwo: a.Value, Op: "SCMP_CMP_MASKED_EQ"}
}
