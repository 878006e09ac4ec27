package seccomp

import "slices"

// Profile is a list of system calls in the form of the runtime specification. Engines and runtimes take it in this
// form.
type Profile struct {
	DefaultAction   string    `json:"defaultAction"`
	DefaultErrnoRet uint      `json:"defaultErrnoRet"`
	Architectures   []string  `json:"architectures"`
	Syscalls        []Syscall `json:"syscalls"`
}

// Syscall is a rule of a Profile for some calls.
type Syscall struct {
	Names  []string `json:"names"`
	Action string   `json:"action"`
}

const (
	actAllow = "SCMP_ACT_ALLOW"
	actErrno = "SCMP_ACT_ERRNO"
)

// runtimes are calls that a runtime itself may need after it has applied the outline: runc uses openat2 from 1.2.8 and
// 1.3.3 on. The program refuses these calls to the agent.
var runtimes = calls(`openat2`)

// Outline returns the wider list around the filter: every call that some rule allows, whatever its arguments, and the
// calls that runtimes need. An engine applies it before process 1 starts. Then sandbox-init applies the Program on top.
// A call must pass both. The outline has no conditions, because engines and runtimes take long to read them.
func (f Filter) Outline() (Profile, error) {
	native, ok := architectures[f.Arch]
	if !ok {
		return Profile{}, unknownArch(f.Arch)
	}
	names := slices.Clone(runtimes)
	for _, r := range f.Rules() {
		if r.Errno == 0 && (r.Arch == "" || r.Arch == f.Arch) {
			names = append(names, r.Names...)
		}
	}
	slices.Sort(names)
	return Profile{
		DefaultAction: actErrno, DefaultErrnoRet: eperm, Architectures: []string{native},
		Syscalls: []Syscall{{Names: slices.Compact(names), Action: actAllow}},
	}, nil
}
