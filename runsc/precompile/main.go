// Program precompile prints runsc's filters.go: the filters of gVisor's own kernel, compiled by gVisor for the
// processor of this machine. They are the filters of systrap without a network and without devices, both with and
// without directfs.
//
// The filters depend on values that are known only in a sentry. For most of these values, gVisor's Precompile finds the
// places in the program. The exception is the process id: gVisor's rules take the id of the compiling process. So two
// processes compile the programs. Where the two results hold these two ids, the sentry's id has to go.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"gvisor.dev/gvisor/pkg/bpf"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
)

// compileOnly is the argument that makes a process only compile.
const compileOnly = "compile"

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == compileOnly {
		err = print(os.Stdout)
	} else {
		err = run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "precompile:", err)
		os.Exit(1)
	}
}

func print(w io.Writer) error {
	programs, err := compile()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(programs)
}

// attempts bounds how often two processes compile. A process id may happen to equal another number in the program.
const attempts = 8

func run(w io.Writer) error {
	var programs []precompiledseccomp.Program
	var err error
	for range attempts {
		if programs, err = withoutID(); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, source(programs))
	return err
}

// withoutID returns the programs, with marked places for the process id.
func withoutID() ([]precompiledseccomp.Program, error) {
	programs, id, err := ask()
	if err != nil {
		return nil, err
	}
	others, otherID, err := ask()
	if err != nil {
		return nil, err
	}
	for i := range programs {
		if err := mark(&programs[i], others[i], uint32(id), uint32(otherID)); err != nil {
			return nil, fmt.Errorf("%s: %w", programs[i].Name, err)
		}
	}
	return programs, nil
}

// ask starts another process, which compiles.
func ask() (programs []precompiledseccomp.Program, id int, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	command := exec.Command(self, compileOnly)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err == nil {
		err = json.Unmarshal(text, &programs)
	}
	if err != nil {
		return nil, 0, err
	}
	return programs, command.Process.Pid, nil
}

// gVisor's names for the two halves of the process id.
const (
	idLow  = "self_pid_low32bits"
	idHigh = "self_pid_high32bits"
)

// mark finds the places of the process id in a program: the same places hold the other id in the other process's
// program. Nothing else may differ. mark also refuses a program that does not kill on a violation: gVisor compiles such
// a program if the kernel of the building machine cannot kill.
func mark(p *precompiledseccomp.Program, other precompiledseccomp.Program, id, otherID uint32) error {
	if len(p.Bytecode32) != len(other.Bytecode32) {
		return fmt.Errorf("two processes have programs of %d and %d words", len(p.Bytecode32), len(other.Bytecode32))
	}
	var places []int
	for at, word := range p.Bytecode32 {
		switch {
		case word == other.Bytecode32[at]:
		case at%2 == 1 && word == id && other.Bytecode32[at] == otherID:
			places = append(places, at)
		default:
			return fmt.Errorf("two processes have %#x and %#x at word %d, which are not their ids", word, other.Bytecode32[at], at)
		}
	}
	if all := answers(p.Bytecode32); !slices.Contains(all, killProcess) {
		return fmt.Errorf("its answers are %#x, and none of them kills: is it the host's kernel that builds?", all)
	}
	for _, at := range places {
		p.Bytecode32[at] = 0 // so that every build is the same
	}
	p.VarOffsets[idLow], p.VarOffsets[idHigh] = places, nil
	return nil
}

// killProcess is the kernel's SECCOMP_RET_KILL_PROCESS.
const killProcess = 0x80000000

// answers returns the answers that a program can end with. A step has two words; the second is the step's number.
func answers(program []uint32) (all []uint32) {
	for step := range slices.Chunk(program, 2) {
		if step[0]&0xffff == bpf.Ret|bpf.K {
			all = append(all, step[1])
		}
	}
	return all
}
