package seccomp

import "slices"

// Profile is a list of system calls in the words of the runtime specification. Engines and runtimes take it in this form.
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

// runtimes are calls that a runtime itself may need when it has put the outline on: runc from 1.2.8 and 1.3.3 on uses openat2.
// The program refuses them to the agent.
var runtimes = calls(`openat2`)

// Outline is the wider list around the filter: every call that some rule lets in, whatever its arguments, and what runtimes need.
// An engine puts it on before process 1 starts, and sandbox-init the Program on top, of which each refusal counts. Engines and
// runtimes take long to read conditions, and the outline has none.
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
