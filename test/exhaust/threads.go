//go:build linux

package exhaust

import (
	"slices"
	"strings"

	"torno/sandbox"
)

// busy has init do all that it does for an agent, and says before and after how many threads it has.
const busy = `
threads() { while read -r key value; do [ "$key" != Threads: ] || echo "threads $value"; done </proc/1/status; }
trap : USR1 TERM HUP
threads
for i in 1 2 3 4 5 6 7 8; do (/bin/sleep 0.0$i & /bin/true); kill -USR1 1; kill -TERM 1; /bin/cat /proc/self/maps; done
kill -HUP 1
/bin/sleep 0.2
threads
`

// Threads holds init to the threads that it has when the agent starts: an agent may use up all there are.
func Threads(f *Field) {
	f.Helper()
	spec := f.prober()
	spec.Process.Argv = []string{"/bin/sh", "-c", busy}
	spec.Answer = sandbox.Answer{Path: "/workspace/answer.txt", FromStdout: true, Max: mib}
	out, exit := f.run(spec)
	counts := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.HasPrefix(line, "threads ") })
	if exit.Code != 0 || len(counts) != 2 || counts[0] != counts[1] {
		f.Errorf("init had %q, and ended with %d", counts, exit.Code)
	}
}
