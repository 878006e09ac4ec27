package seccomp

import "fmt"

// A program's answers about a call. A refusal has its error in the lower half.
const (
	pass   = 0x7FFF0000
	refuse = 0x00050000
	kill   = 0x80000000 // the whole process
	eperm  = 1
)

// Where a program finds its input: the number of a call, the architecture that the call was made for, and the
// arguments.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16
	argSize  = 8
)

// machines holds the kernel's numbers for the architectures.
var machines = map[string]uint32{"amd64": 0xC000003E, "arm64": 0xC00000B7}

// Program returns the filter as the kernel takes it: steps of struct sock_filter. A call that was made for another
// architecture kills the process. A number without a rule is refused, whatever it is. This includes the numbers of x32,
// the kernel's third set of calls on amd64.
func (f Filter) Program() ([]byte, error) {
	rules, err := f.byNumber()
	if err != nil {
		return nil, err
	}
	return assemble(machines[f.Arch], rules)
}

func assemble(machine uint32, rules map[uint32][]Rule) ([]byte, error) {
	a := newAssembly()
	known := a.before(a.search(a.spansOf(rules), asked), load, numberAt)
	a.before(a.branch(jumpEqual, machine, known, a.answer(kill)), load, archAt)
	return a.program()
}

// byNumber returns the rules of each call, in their order.
func (f Filter) byNumber() (map[uint32][]Rule, error) {
	numbers, err := numbersOf(f.Arch)
	if err != nil {
		return nil, err
	}
	all := map[uint32][]Rule{}
	for _, r := range f.Rules() {
		if r.Arch != "" && r.Arch != f.Arch {
			continue
		}
		for _, name := range r.Names {
			number, ok := numbers[name]
			if !ok {
				return nil, fmt.Errorf("the number of %s on %s is not known", name, f.Arch)
			}
			all[number] = append(all[number], r)
		}
	}
	return all, nil
}
