package compile_test

import (
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// TestEveryPlaceholder expands all of them, and shows that a value is never expanded again.
func TestEveryPlaceholder(t *testing.T) {
	req := request(t, "{{.Model}}; $(reboot) {{.Nothing}}")
	var err error
	if req.Model, err = delegation.ParseToken("m/1"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"{{.Task}}":       "{{.Model}}; $(reboot) {{.Nothing}}",
		"{{.TaskFile}}":   "/run/torno/run/task",
		"{{.Config}}":     "/run/torno/run/config.yaml",
		"{{.AnswerFile}}": "/w/s1/answer.txt",
		"{{.Workspace}}":  "/w/s1",
		"{{.SubagentID}}": "s1",
		"{{.RequestID}}":  req.RequestID.Hash(),
		"{{.Model}}":      "m/1",
		"{{.SessionID}}":  "",
	}
	for _, p := range compile.Placeholders {
		spec, _, err := compile.Compile(req, bounded("run", "a"+p.Text+p.Text+"{{z}}"))
		if err != nil {
			t.Fatal(err)
		}
		value, known := want[p.Text]
		if got := spec.Process.Argv; !known || !slices.Equal(got, []string{"run", "a" + value + value + "{{z}}"}) {
			t.Errorf("%s became %q", p.Text, got)
		}
		if p.Use == "" {
			t.Errorf("%s is not explained", p.Text)
		}
	}
	if len(want) != len(compile.Placeholders) {
		t.Errorf("there are %d placeholders, tested are %d", len(compile.Placeholders), len(want))
	}
}

func TestCheckPlaceholders(t *testing.T) {
	for _, good := range []string{"", "{{.Task}}", "x{{.TaskFile}}{{.Config}}y", "{{json}}", "{{", "}}{{.", "{.Task}", "{{.a"} {
		if err := compile.CheckPlaceholders(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"{{.Taskfile}}":      "unknown placeholder {{.Taskfile}}; did you mean {{.TaskFile}}?",
		"a{{ .Task }}":       "unknown placeholder {{ .Task }}; did you mean {{.Task}}?",
		"{{.Task}}{{.Conf}}": "unknown placeholder {{.Conf}}; did you mean {{.Config}}?",
		"{{.HostName}}":      "unknown placeholder {{.HostName}}; known are {{.Task}} {{.TaskFile}}",
		"{{.}}":              "unknown placeholder {{.}}; known are",
	} {
		if err := compile.CheckPlaceholders(bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", bad, err, want)
		}
	}
}

func TestTaskMayBeOption(t *testing.T) {
	for command, want := range map[string]int{
		"agent {{.Task}}":              1,
		"agent -p {{.Task}}":           2,
		"agent -p {{.Task}}.":          2,
		"agent -- {{.Task}}":           -1,
		"agent --task={{.Task}}":       -1,
		"agent -f {{.TaskFile}}":       -1,
		"/bin/sh -c {{.Task}}":         -1,
		"agent {{.Task}} -- {{.Task}}": 1,
	} {
		if got := compile.TaskMayBeOption(strings.Fields(command)); got != want {
			t.Errorf("%s: got %d, want %d", command, got, want)
		}
	}
}

func TestAnswerModes(t *testing.T) {
	for _, test := range []struct {
		command string
		mode    compile.AnswerMode
		want    sandbox.Answer
	}{
		{"", "", sandbox.Answer{Path: "/w/s1/answer.txt", FromStdout: true, Max: 1 << 20}},
		{"bash -c {{.Task}}", "", sandbox.Answer{Path: "/w/s1/answer.txt", FromStdout: true, Max: 1 << 20}},
		{"agent -c {{.Task}}", "", sandbox.Answer{Path: "/w/s1/answer.txt"}},
		{"agent", compile.AnswerStdout, sandbox.Answer{Path: "/w/s1/answer.txt", FromStdout: true, Max: 1 << 20}},
		{"", compile.AnswerFile, sandbox.Answer{Path: "/w/s1/answer.txt"}},
		{"", compile.AnswerNone, sandbox.Answer{}},
	} {
		policy := bounded(strings.Fields(test.command)...)
		policy.Profiles[0].Answer = test.mode
		spec, _, err := compile.Compile(request(t, "x"), policy)
		if err != nil || spec.Answer != test.want {
			t.Errorf("%q with mode %q: %+v, %v", test.command, test.mode, spec.Answer, err)
		}
		named := slices.ContainsFunc(spec.Process.Env, func(v string) bool { return strings.HasPrefix(v, "TORNO_ANSWER_FILE=") })
		if named != (test.want.Path != "") {
			t.Errorf("%q with mode %q: TORNO_ANSWER_FILE is wrong in %q", test.command, test.mode, spec.Process.Env)
		}
	}
}
