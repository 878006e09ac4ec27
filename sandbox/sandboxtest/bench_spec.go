package sandboxtest

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// mib is 1 MiB.
const mib = 1 << 20

// spec returns a run of a word of the vocabulary. Its limits leave room for anything that a case does.
func (b *bench) spec(name string, args ...string) sandbox.Spec {
	argv := append([]string{name}, args...)
	if b.suite.Real {
		argv = shell(name, args)
	}
	return b.command(argv...)
}

// command returns a run of any command line. It compiles the spec as the watcher does, so that the agent finds the same
// things as real agents do.
func (b *bench) command(argv ...string) sandbox.Spec {
	b.Helper()
	return b.withPrograms(nil, argv...)
}

// withPrograms works like command, for a profile that has programs.
func (b *bench) withPrograms(programs []compile.Programs, argv ...string) sandbox.Spec {
	b.Helper()
	subagent, err := delegation.ParseSubagentID("case")
	b.must(err)
	id, err := delegation.ParseRequestID(fmt.Sprintf("%s %d", b.Name(), numbers.Add(1)))
	b.must(err)
	request := delegation.Request{SubagentID: subagent, RequestID: id, Task: "-", Workspace: b.source("workspace").Rel}
	spec, _, err := compile.Compile(request, compile.Policy{
		Outbox: "suite",
		Dir:    b.suite.base,
		Allow:  []compile.Root{compile.Root(b.suite.base)},
		Owners: []uint32{owner, uint32(os.Geteuid())},
		Profiles: []compile.Profile{{
			Name: "suite", RootFS: sandbox.RootFS{Host: true}, Programs: programs, Command: argv, Answer: compile.AnswerNone,
			Limits: limits, Timeout: compile.Timeouts{Default: caseTime}, Umask: 0o022,
		}},
	})
	b.must(err)
	if b.suite.Adjust != nil {
		b.suite.Adjust(b.T, &spec)
	}
	return spec
}

var limits = sandbox.Limits{
	Memory: 512 * mib, CPUs: 2000, Pids: 128, OpenFiles: 1024, FileSize: 256 * mib,
	Tmp: 64 * mib, Home: 64 * mib, Shm: 16 * mib, Log: 8 * mib,
}

// numbers counts up, for names that must differ between all cases of all suites.
var numbers atomic.Int64

// numbered returns the text that the word "lines" prints.
func numbered(n int, tag string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d%s\n", i+1, tag)
	}
	return text.String()
}

// long returns n bytes of text, in lines that all differ.
func long(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "%d bottles of 'beer' on the \"wall\" \\n $HOME\n", i)
	}
	return text.String()[:n]
}
