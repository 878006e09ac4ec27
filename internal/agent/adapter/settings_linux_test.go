package adapter_test

import (
	"strings"
	"testing"
)

// shows has the agent write its arguments, and what is in the files that they name.
const shows = `for a; do echo "$a"; case $a in --*=/*) echo "  $(cat "${a#*=}")";; esac; done >$D/seen; ` + claudeEnds

const allSettings = `{"system_prompt":"You\nreview.","allow":["Read","Bash(git log:*)","Bash(git show:*)","mcp__notes__add"],"deny":["Bash(git push:*)"],` +
	`"mcp_servers":{"notes":{"command":"notes","args":["--x"],"env":{"A":"b"}}}}`

// TestTheAgentHasItsSettings: its rules, its servers and its system prompt, and nothing of what its workspace says.
func TestTheAgentHasItsSettings(t *testing.T) {
	for _, test := range []struct {
		name, settings string
		flags          []string
		want, not      []string
	}{
		{"all", allSettings, nil, []string{
			"--tools=Bash,Read\n", `"allow":["Read","Bash(git log:*)","Bash(git show:*)","mcp__notes__add"],"deny":["Bash(git push:*)"]`, "--setting-sources=user\n",
			`{"mcpServers":{"notes":{"command":"notes","args":["--x"],"env":{"A":"b"}}}}`, "--strict-mcp-config\n", "  You\nreview.\n",
		}, []string{"--dangerously-skip-permissions"}},
		{"no tools", `{"allow":[]}`, nil, []string{"--tools=\n"}, []string{"--dangerously-skip-permissions", "--settings"}},
		{"every tool", `{"allow":["*"]}`, nil, []string{"--dangerously-skip-permissions\n"}, []string{"--tools"}},
		{"a denial alone", `{"deny":["WebFetch"]}`, nil, []string{"--dangerously-skip-permissions\n", `{"permissions":{"deny":["WebFetch"]}}`}, []string{"--tools"}},
		{"an agent that asks", allSettings, []string{"--ask", "tools"}, []string{"--tools=Bash,Read\n", `{"permissions":{"deny":["Bash(git push:*)"]}}`, "--permission-prompt-tool=stdio\n"}, []string{`"allow"`, "skip-permissions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, "claude", shows)
			r.plant("settings", test.settings, 0o600)
			r.cmd.Args = append(r.cmd.Args[:len(r.cmd.Args)-2:len(r.cmd.Args)-2], append(append([]string{"--settings", r.in("settings")}, test.flags...), "--", r.in("claude"))...)
			r.cmd.Env = append(r.cmd.Env, "TMPDIR="+r.dir)
			if code, told := r.run(); code != 0 {
				t.Fatalf("exit %d, %+v", code, told)
			}
			seen := r.read("seen")
			for _, want := range test.want {
				if !strings.Contains(seen, want) {
					t.Errorf("%q is not in\n%s", want, seen)
				}
			}
			for _, not := range test.not {
				if strings.Contains(seen, not) {
					t.Errorf("%q is in\n%s", not, seen)
				}
			}
			if n := strings.Count(seen, "--setting-sources=user"); n != 1 {
				t.Errorf("it is told %d times which settings count", n)
			}
		})
	}
}

// TestSettingsThatCannotBeGivenEndTheAgent before it starts.
func TestSettingsThatCannotBeGivenEndTheAgent(t *testing.T) {
	for settings, env := range map[string]string{`{"deny":["--x"]}`: "", `{"deny":["Bash"],"yolo":true}`: "", `{"deny":["Bash"]}`: "TMPDIR=/nowhere"} {
		r := newRig(t, "claude", "echo x >$D/began; "+claudeEnds)
		r.plant("settings", settings, 0o600)
		r.cmd.Args = append(r.cmd.Args[:len(r.cmd.Args)-2:len(r.cmd.Args)-2], "--settings", r.in("settings"), "--", r.in("claude"))
		r.cmd.Env = append(r.cmd.Env, env)
		code, told := r.run()
		if result := r.last(told); code != 1 || !strings.Contains(result.Text, "the settings of this run cannot be given to claude") || r.read("began") != "" {
			t.Errorf("%s: exit %d, %+v", settings, code, result)
		}
	}
}
