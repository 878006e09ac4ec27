package modes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func cases(t *testing.T, name string, each func(t *testing.T, lines []string) string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/" + name)
	if err != nil || len(archive.Files) == 0 {
		t.Fatal(name, err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSuffix(string(file.Data), "\n"), "\n")
			if len(lines) != 3 {
				t.Fatalf("there are %d lines", len(lines))
			}
			if got := each(t, lines); got != lines[2] {
				t.Errorf("got\n%s\nwant\n%s", got, lines[2])
			}
		})
	}
}

// S§1.5: where a child runs.
func TestChoose(t *testing.T) {
	cases(t, "choose.txtar", func(t *testing.T, lines []string) string {
		settings, _, err := Parse(strings.Fields(lines[0]), "/work", nil)
		if err != nil {
			t.Fatal(err)
		}
		host := Host{InContainer: strings.HasPrefix(lines[1], "container"), Outbox: !strings.HasSuffix(lines[1], "bare")}
		if strings.HasSuffix(lines[1], "silent") {
			host.Nobody = errors.New("nobody serves")
		}
		way, err := settings.Choose(host)
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("%s %v %s", way.Mode, way.Prefix, way.Warning)
	})
}

// TestTheDelegationDirectoryIsTheOutbox: MassGen names it in the argv.
func TestTheDelegationDirectoryIsTheOutbox(t *testing.T) {
	if s, _, err := Parse([]string{"--delegation-directory", "/d"}, "/work", nil); err != nil || s.Outbox != "/d" {
		t.Errorf("got %q, %v", s.Outbox, err)
	}
}

// S§1.5: how MassGen starts its server, and what it refuses.
func TestParse(t *testing.T) {
	cases(t, "parse.txtar", func(t *testing.T, lines []string) string {
		s, _, err := Parse(strings.Fields(lines[0]), "/work", func(string) ([]byte, error) { return []byte(lines[1]), nil })
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("%s,%s,%s | %d %d %d %d | %s,%s,%v | %v | %v", s.Workspace, s.Temp, s.Logs, s.MaxConcurrent, s.Default, s.Min, s.Max, s.Mode, s.Fallback, s.Prefix, s.Types, s.Background)
	})
}

// S§1.5: "default outside range = warning", and no types are not the default ones.
func TestWarningsAndTypes(t *testing.T) {
	s, warnings, err := Parse([]string{"--default-timeout", "30"}, "/work", nil)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "will be clamped at runtime") || s.Types != nil {
		t.Errorf("got %+v, %q, %v", s, warnings, err)
	}
	none, _, err := Parse([]string{"--coordination-config-file", "f"}, "/work", func(string) ([]byte, error) { return []byte(`{"subagent_types":[]}`), nil })
	if err != nil || none.Types == nil || len(none.Types) != 0 {
		t.Errorf("got %+v, %v", none, err)
	}
}

// S§1.11: what subagent_orchestrator says of a team is kept, and what has no effect here is said.
func TestOrchestrator(t *testing.T) {
	const file = `{"enabled":false,"coordination":{"voting":"x"},"enable_web_search":true,"parse_at_references":true,"disable_injection":false,"defer_voting_until_all_answered":false}`
	s, warnings, err := Parse([]string{"--orchestrator-config", file}, "/work", nil)
	o := s.Orchestrator
	if err != nil || !o.Injection || !o.VotesAtOnce || o.Coordination["voting"] != "x" {
		t.Errorf("got %+v, %v", o, err)
	}
	if len(warnings) != 3 || !strings.Contains(warnings[0], "enabled") || !strings.Contains(warnings[1], "enable_web_search") || !strings.Contains(warnings[2], "parse_at_references") {
		t.Errorf("it warns %q", warnings)
	}
	if s, warnings, err = Parse([]string{"--orchestrator-config", `{"enable_web_search":null}`}, "/work", nil); err != nil || len(warnings) > 0 || s.Orchestrator.Injection {
		t.Errorf("got %+v, %q, %v", s, warnings, err)
	}
}

// S§1.5: "clamp = max(min, min(max, t or default)); if default>max then max:=default".
func TestClamp(t *testing.T) {
	for _, test := range []struct {
		argv           string
		asked, allowed int
	}{{"", 0, 300}, {"", 30, 60}, {"", 900, 600}, {"", 90, 90}, {"--default-timeout 30", 0, 60}, {"--default-timeout 700", 0, 700}, {"--default-timeout 700", 900, 700}} {
		s, _, err := Parse(strings.Fields(test.argv), "/work", nil)
		if got := s.Clamp(test.asked); err != nil || got != test.allowed {
			t.Errorf("%s, %d: got %d, want %d; %v", test.argv, test.asked, got, test.allowed, err)
		}
	}
}

// S§1.5 and S§1.7: the parent's own context paths are texts, or objects with a path.
func TestContextPaths(t *testing.T) {
	s, _, err := Parse([]string{"--context-paths-file", "f"}, "/work", func(string) ([]byte, error) { return []byte(`["/a",{"path":"/b","permission":"write"}]`), nil })
	if err != nil || strings.Join(s.ContextPaths, " ") != "/a /b" {
		t.Error(s.ContextPaths, err)
	}
	for _, bad := range []string{`["a"]`, `[5]`, `{}`, `[{"path":"../x"}]`} {
		if s, _, err := Parse([]string{"--context-paths-file", "f"}, "/work", func(string) ([]byte, error) { return []byte(bad), nil }); err == nil {
			t.Errorf("%s became %q", bad, s.ContextPaths)
		}
	}
}
