// Program precompile prints, as runsc's filters.go, the filters of gVisor's own kernel, compiled by gVisor for the processor
// it runs on: of systrap without a network and without devices, with directfs and without.
//
// The filters depend on values that are known only in a sentry. gVisor's Precompile finds the places of most of them in a
// program. The process id is the exception: gVisor's rules take it from the process that compiles. So two processes compile
// the programs, and the places where the results hold these two ids are where the sentry's id goes.
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

// compileOnly is the argument of the two processes.
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

// attempts is how often two processes are asked. A process id may happen to be another number of the program, too.
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

// withoutID are the programs with a place for the process id.
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

// ask has another process compile.
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

// The names that gVisor has for the halves of the process id.
const (
	idLow  = "self_pid_low32bits"
	idHigh = "self_pid_high32bits"
)

// mark notes in a program where its process id is: where another one's is in that of another process. Nothing else may
// differ. A violation has to kill, also where this is built by a kernel that does not know how.
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

// answers are what a program can end with. A step is two words, of which the second is its number.
func answers(program []uint32) (all []uint32) {
	for step := range slices.Chunk(program, 2) {
		if step[0]&0xffff == bpf.Ret|bpf.K {
			all = append(all, step[1])
		}
	}
	return all
}
