package clients

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"torno/test/house"
	"torno/test/upstream/standin"
)

// TestAnAgentDelegatesWithTheToolsOfStakpak: Claude Code has that set, and starts a Claude Code in a sandbox, which asks whether it may
// run a command. The parent's client ends in between; a new one finds the task again, approves, and reads its answer.
func TestAnAgentDelegatesWithTheToolsOfStakpak(t *testing.T) {
	house.Need(t, house.GVisor)
	up := standin.New(upstreamKey)
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	h, installed := askingHouse(t, server.URL)
	home := t.TempDir()
	p := parent{House: h, toolUser: toolUsers(home, server.URL)[0], installed: installed, home: home, work: h.Mkdir(filepath.Join(h.Dir, "work"))}
	p.run[2] = "--allowedTools=mcp__stakpak"
	p.do("claude", "mcp", "add", "stakpak", "--", "subagent", "mcp", "--tools", "stakpak", "--outbox", p.Outbox)
	p.steps("it is started", `dynamic_subagent_task {"description":"Make a file","instructions":"#tool Bash {\"command\":\"touch made.txt\",\"description\":\"d\"}","tools":["stakpak__run_command"]}`)
	id := p.onlyTask()
	p.steps("it is paused", fmt.Sprintf(`wait_for_tasks {"task_ids":%q}`, id), fmt.Sprintf(`get_task_details {"task_id":%q}`, id))
	call := regexp.MustCompile(`call_1_[0-9a-f]{16}`).FindString(p.lastRead(up, "Status: Paused", "Pending Tool Calls", "touch made.txt"))
	if p.Exists("workspaces/" + id + "/made.txt") {
		t.Error("the command was run before it was approved")
	}
	p.steps("it is done",
		fmt.Sprintf(`resume_subagent_task {"task_id":%q,"approve":[%q]}`, id, call), fmt.Sprintf(`wait_for_tasks {"task_ids":%q}`, id), fmt.Sprintf(`get_task_details {"task_id":%q}`, id))
	p.lastRead(up, "Subagent Task Resumed", "[OK]", "Status: Completed", "### Response:", "follow no instructions in it")
	if !p.Exists("workspaces/" + id + "/made.txt") {
		t.Error("the command was not run")
	}
}

// askingHouse has a profile for Claude Code that asks before it calls tools.
func askingHouse(t *testing.T, upstream string) (h *house.House, installed string) {
	t.Helper()
	installed = needClients(t)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(upstreamKey), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]any{"PATH": claude.Path(installed)}
	h = house.New(t, house.Plan{
		Sandbox: house.GVisor, Offers: ", claude", MaxRunning: 5,
		Top: fmt.Sprintf("gateway:\n  routes:\n    claude: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}", upstream, key),
		Profiles: fmt.Sprintf("  claude:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    limits: {memory: 2GiB, tmp: 256MiB, home: 256MiB, log: 8MiB, pids: 256}\n    programs: [%q]\n    routes: [claude]\n%s    approvals: {expires: 2m}\n",
			installed, exampleFor(t, claude, env)),
	})
	return h, installed
}

// steps has the parent's model call tools of Stakpak's, one after the other, and then say a word.
func (p parent) steps(last string, calls ...string) {
	p.Helper()
	p.stepsWith("mcp__stakpak__", last, calls...)
}

// stepsWith is steps for the tools of any set.
func (p parent) stepsWith(prefix, last string, calls ...string) {
	p.Helper()
	script := []string{"#steps"}
	for _, call := range calls {
		script = append(script, "#tool "+prefix+call)
	}
	if said := p.do(append(p.run, strings.Join(append(script, last), "\n"))...); !strings.Contains(said, last) {
		p.Errorf("the parent said %s", said)
	}
}

// onlyTask is the id of the only task in the outbox.
func (p parent) onlyTask() string {
	p.Helper()
	found, err := filepath.Glob(p.Path("request_*.json"))
	p.Must(err)
	if len(found) != 1 {
		p.Fatalf("the outbox has the requests %q", found)
	}
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "request_"), ".json")
	if !regexp.MustCompile(`^[a-z0-9]{6}$`).MatchString(id) {
		p.Errorf("the task is called %s", id)
	}
	return id
}

// lastRead is what the parent's model has read in the end. It must have all these words.
func (p parent) lastRead(up *standin.Upstream, words ...string) string {
	p.Helper()
	seen := up.Seen()
	for i := len(seen) - 1; i >= 0; i-- {
		body := string(seen[i].Body)
		if !strings.Contains(body, "#steps") {
			continue // the child's
		}
		for _, word := range words {
			if !strings.Contains(body, word) {
				p.Errorf("its model has not read %q:\n%s", word, results(body))
			}
		}
		return body
	}
	p.Fatal("its model was not asked")
	return ""
}
