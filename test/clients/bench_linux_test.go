package clients

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// BenchmarkAnAgentsRun has Claude Code work in a sandbox and on the host itself, in turn: start, one command, one answer. The host's asks the
// same upstream directly, with the environment that the sandbox's has. Codex sends to the stand-in itself what that does not read, so it is
// not compared.
func BenchmarkAnAgentsRun(b *testing.B) {
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { agentsRun(b, claude, sandbox) })
	}
}

// BenchmarkAPreparedAgentsRun is the same with a sandbox that was made ahead of each run.
func BenchmarkAPreparedAgentsRun(b *testing.B) {
	c := claude
	c.top = "\npool: {size: 1}"
	for _, sandbox := range house.Launchers {
		b.Run(sandbox, func(b *testing.B) { agentsRun(b, c, sandbox) })
	}
}

func agentsRun(b *testing.B, c client, sandbox string) {
	s := stageFor(b, c, sandbox, nil)
	look := s.Submit(s.ask("look", "client", "env >env.txt; cat", "nothing"))
	s.Want(s.Response(look), delegation.StatusCompleted, delegation.ReasonExited, 0)
	env := s.Read(look.Workspace + "/env.txt")
	var ours, hosts []time.Duration
	var ratios, used []float64 // of the time, and of the processors' time
	for b.Loop() {
		if c.top != "" {
			s.awaitPool()
		}
		a := s.ask(fmt.Sprint("run", len(ours)), "client", c.run, fmt.Sprintf(c.tool, "echo from-$((40+2))"))
		begin := time.Now()
		resp := s.Response(s.Submit(a))
		ours = append(ours, time.Since(begin))
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		alone := exec.Command("/bin/sh", "-c", a.Task)
		alone.Dir, alone.Env = b.TempDir(), s.hostsEnv(env)
		begin = time.Now()
		out, err := alone.CombinedOutput()
		hosts = append(hosts, time.Since(begin))
		if err != nil || !strings.Contains(string(out), "from-42") {
			b.Fatalf("on the host: %v\n%s", err, out)
		}
		ratios = append(ratios, float64(ours[len(ours)-1])/float64(hosts[len(hosts)-1]))
		used = append(used, resp.Usage.CPUSeconds/(alone.ProcessState.UserTime()+alone.ProcessState.SystemTime()).Seconds())
	}
	b.ReportMetric(middle(ratios), "of-the-hosts")
	b.ReportMetric(middle(used), "of-the-hosts-cpu")
	b.ReportMetric(float64(middle(ours).Milliseconds()), "ms-ours")
	b.ReportMetric(float64(middle(hosts).Milliseconds()), "ms-on-the-host")
}

// awaitPool waits until every sandbox is ready that is wanted.
func (s *stage) awaitPool() {
	s.Helper()
	s.Eventually("the pool is full", func() bool {
		status, err := s.Client.Status(s.Context())
		if err != nil {
			return false
		}
		ready, wanted := 0, 0
		for _, pool := range status.Pools {
			for _, shelf := range pool.Shelves {
				ready, wanted = ready+shelf.Ready, wanted+shelf.Wanted
			}
		}
		return wanted > 0 && ready == wanted
	})
}

func middle[T float64 | time.Duration](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

// hostsEnv is the environment of a sandbox with the upstream itself in place of the gateway, and places of the host. Its home is as new as a
// sandbox's: what an agent makes there at its first start is a part of both runs.
func (s *stage) hostsEnv(text string) (env []string) {
	s.Helper()
	home := s.TempDir()
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch {
		case name == "HOME", name == "TMPDIR", name == "PWD", strings.HasPrefix(value, "/home/agent"):
			value = home
		case name == "ANTHROPIC_BASE_URL":
			value = s.url
		case name == "OPENAI_BASE_URL":
			value = s.url + "/v1"
		case strings.HasSuffix(name, "_API_KEY"), strings.HasSuffix(name, "_AUTH_TOKEN"):
			value = upstreamKey
		}
		env = append(env, name+"="+value)
	}
	return append(env, "IS_SANDBOX=1") // otherwise Claude Code, as root, asks before each command
}
