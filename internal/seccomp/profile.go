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

func (r Rule) syscall() Syscall {
	call := Syscall{Names: slices.Clone(r.Names), Action: actAllow}
	if r.Errno != 0 {
		call.Action, call.ErrnoRet = actErrno, &r.Errno
	}
	for _, a := range r.Args {
		call.Args = append(call.Args, a.syscall())
	}
	return call
}

// syscall writes plain equality with the operator that is made for it.
func (a Arg) syscall() SyscallArg {
	if a.Mask == allBits {
		return SyscallArg{Index: a.Index, Value: a.Value, Op: "SCMP_CMP_EQ"}
	}
	return SyscallArg{Index: a.Index, Value: a.Mask, ValueTwo: a.Value, Op: "SCMP_CMP_MASKED_EQ"}
}
