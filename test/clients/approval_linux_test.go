package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// asking is a request that has an agent run a command about which it asks.
func (s *stage) asking(id, profile, command string) house.Ask {
	return house.Ask{ID: id, Profile: profile, Context: []string{s.installed}, Timeout: 60, Task: fmt.Sprintf(s.tool, command)}
}

// decisions are how the questions of a run were decided, as its events tell it.
func (s *stage) decisions(a house.Ask) string {
	s.Helper()
	var all []string
	for _, e := range of(s.Told(a), delegation.EventDecided) {
		all = append(all, e.Approval.Outcome+" by "+e.Approval.By)
	}
	return strings.Join(all, ", ")
}

// wantMade checks whether a run's command was run, and how its question was decided.
func (s *stage) wantMade(a house.Ask, file string, made bool, decisions string) {
	s.Helper()
	s.Want(s.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if s.Exists("workspaces/"+a.ID+"/"+file) != made {
		s.Errorf("%s: %s is there: %v", a.ID, file, !made)
	}
	if got := s.decisions(a); got != decisions {
		s.Errorf("%s: %s, and not %s", a.ID, got, decisions)
	}
}

// TestThePolicyDecides: what its rules have is approved or denied without anybody's word, and what nobody decides is denied. What
// lies in the workspace approves nothing.
func TestThePolicyDecides(t *testing.T) {
	eachThatTalks(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		allowed := s.Submit(s.asking("allowed", "asking", "touch allowed.txt"))
		denied := s.Submit(s.asking("denied", "asking", "touch denied.txt"))
		hasty := s.asking("hasty", "hasty", "touch hasty.txt")
		s.settlesForItself("workspaces/hasty")
		hasty = s.Submit(hasty)
		s.wantMade(allowed, "allowed.txt", true, "approved by policy")
		s.wantMade(denied, "denied.txt", false, "denied by policy")
		s.wantMade(hasty, "hasty.txt", false, "denied by time")
	})
}

// settlesForItself puts settings into a workspace that would have each agent ask for nothing.
func (s *stage) settlesForItself(workspace string) {
	s.Helper()
	const claudes = `{"permissions":{"allow":["Bash","Bash(touch:*)"],"defaultMode":"bypassPermissions"}}`
	for name, content := range map[string]string{
		".claude/settings.json": claudes, ".claude/settings.local.json": claudes,
		".codex/config.toml":         "approval_policy = \"never\"\n",
		".codex/rules/default.rules": `prefix_rule(pattern=["touch"], decision="allow")` + "\n",
	} {
		file := s.Path(filepath.Join(workspace, name))
		s.Must(os.MkdirAll(filepath.Dir(file), 0o755))
		s.Must(os.WriteFile(file, []byte(content), 0o644))
	}
}

// subagent runs a command of the parent's, and returns what it said and whether it succeeded.
func (s *stage) subagent(words ...string) (said string, ok bool) {
	s.Helper()
	out, err := exec.Command(house.Program("subagent"), append([]string{"--outbox", s.Outbox}, words...)...).CombinedOutput()
	return string(out), err == nil
}

// asks waits until a run waits with so many questions, and returns them.
func (s *stage) asks(a house.Ask, n int) (waiting []delegation.PendingApproval) {
	s.Helper()
	s.Eventually(a.ID+" waits for approval", func() bool {
		data, err := os.ReadFile(s.Path("status_" + a.ID + ".json"))
		if err != nil {
			return false
		}
		status, err := delegation.DecodeRunStatus(data)
		waiting = status.Approvals
		return err == nil && status.State == delegation.StateWaiting && len(waiting) == n
	})
	return waiting
}

// TestAParentDecides: it grants and denies what it has seen, also where the watcher is killed while the agent waits. What it granted
// counts for no other call.
func TestAParentDecides(t *testing.T) {
	eachThatTalks(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		granted := s.Submit(s.asking("granted", "asking", "touch granted.txt; touch 'it is <&> \"so\"'"))
		denied := s.Submit(s.asking("denied", "asking", "touch never.txt"))
		seen := s.asks(granted, 1)[0]
		if seen.Tool != s.shell || !strings.Contains(seen.Arguments, `touch granted.txt`) {
			t.Errorf("it asks %+v", seen)
		}
		other := s.asks(denied, 1)[0]
		s.replays(denied, other, seen)
		s.Signal(syscall.SIGKILL)
		s.Start()
		if said, ok := s.subagent("approve", "granted", "1"); ok || !strings.Contains(said, "subagent approve granted 1 "+seen.Digest[:8]) {
			t.Errorf("approved without its digest: %s", said)
		}
		if said, ok := s.subagent("approve", "granted", "1", seen.Digest[:8]); !ok {
			t.Errorf("approve: %s", said)
		}
		s.asks(denied, 1)
		if said, ok := s.subagent("deny", "denied", other.Digest[:8], "--", "leave it"); !ok {
			t.Errorf("deny: %s", said)
		}
		s.wantMade(granted, "granted.txt", true, "approved by parent")
		s.wantMade(denied, "never.txt", false, "denied by parent")
		if !s.Exists(`workspaces/granted/it is <&> "so"`) {
			t.Error("another command was run than the one that was approved")
		}
		seenByModels := s.up.Seen()
		if !slices.ContainsFunc(seenByModels, func(seen standin.Seen) bool { return strings.Contains(string(seen.Body), "leave it") }) {
			t.Error("the agent was not told why")
		}
		if said, ok := s.subagent("approve", "granted", "1", seen.Digest[:8]); ok {
			t.Errorf("a second time: %s", said)
		}
	})
}

// replays has the parent send what it was shown of one question for another one, which goes on waiting.
func (s *stage) replays(a house.Ask, waits, shown delegation.PendingApproval) {
	s.Helper()
	id, err := delegation.ParseSubagentID(a.ID)
	s.Must(err)
	request, err := delegation.ParseRequestID(a.Request)
	s.Must(err)
	in := delegation.Input{
		Version: 1, SubagentID: a.ID, RequestID: a.Request, N: 1, Kind: delegation.InputDecision, Approval: waits.Approval, Digest: shown.Digest, Decision: delegation.Approve,
	}
	data, err := in.Encode()
	s.Must(err)
	name := s.Path(delegation.InputName(id, request, 1))
	s.Must(os.WriteFile(name+".tmp", data, 0o644))
	s.Must(os.Rename(name+".tmp", name))
	s.Eventually("the decision is refused", func() bool {
		data, err := os.ReadFile(s.Path("status_" + a.ID + ".json"))
		if err != nil {
			return false
		}
		status, err := delegation.DecodeRunStatus(data)
		return err == nil && status.Input != nil && len(status.Input.Refused) == 1 && status.Input.Refused[0].Code == delegation.CodeDecision
	})
	s.asks(a, 1)
}
