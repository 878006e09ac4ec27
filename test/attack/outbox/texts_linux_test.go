package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"torno/delegation"
)

// texts are requests whose bytes are no good request.
var texts = []attempt{
	{
		Row: "O10", name: "ten thousand brackets", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
			s.drop("request_"+s.id+".json", replaced(s.body(says{"yaml_config": "DEEP"}), `"DEEP"`, `{"a":`+deep+`}`))
		},
		naive: func(s *scene) bool { // decodes it gladly, and writes it out a hundred times as long
			var deep any
			text := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
			s.Must(json.Unmarshal([]byte(text), &deep))
			out, err := json.MarshalIndent(deep, "", "  ")
			return err == nil && len(out) > 100*len(text)
		},
	},
	{
		Row: "O11", name: "two workspaces", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.drop("request_"+s.id+".json", replaced(s.body(nil), `"version":1`, `"version":1,"workspace":"/etc"`))
		},
		naive: func(s *scene) bool { // the first that is there is checked, the last one is used
			var used struct{ Workspace string }
			text := []byte(`{"workspace":"/allowed","workspace":"/etc"}`)
			checked := bytes.Contains(text[:bytes.Index(text, []byte(","))], []byte("/allowed"))
			return checked && json.Unmarshal(text, &used) == nil && used.Workspace == "/etc"
		},
	},
	{
		Row: "O11", name: "a name in another case", code: delegation.CodeUnparsable,
		say: func(s *scene) says { return says{"workspace": nil, "WORKSPACE": "/etc"} },
		naive: func(*scene) bool {
			var used struct{ Workspace string }
			return json.Unmarshal([]byte(`{"WORKSPACE":"/etc"}`), &used) == nil && used.Workspace == "/etc"
		},
	},
	{
		Row: "O12", name: "a time that overflows",
		say: func(*scene) says { return says{"timeout_seconds": 1e300, "task": "echo bounded"} },
		judge: func(s *scene) {
			if got := s.ran(); got != "bounded\n" || len(s.answer().Warnings) == 0 {
				s.Errorf("it says %q, with the warnings %q", got, s.answer().Warnings)
			}
		},
		naive: overflows,
	},
	{
		Row: "O12", name: "a number that is none", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.drop("request_"+s.id+".json", replaced(s.body(says{"yaml_config": says{"a": "HUGE"}}), `"HUGE"`, "1e999999999"))
		},
		naive: func(*scene) bool { // passes it on as text, to a reader that cannot read it
			var passed map[string]json.Number
			var taken map[string]float64
			text := []byte(`{"a":1e999999999}`)
			return json.Unmarshal(text, &passed) == nil && json.Unmarshal(text, &taken) != nil
		},
	},
	{
		Row: "O12", name: "no time at all", code: delegation.CodeInvalid,
		say: func(*scene) says { return says{"timeout_seconds": -1e300} }, naive: overflows,
	},
	{
		Row: "O13", name: "a NUL in the task", code: delegation.CodeInvalid,
		say: func(*scene) says { return says{"task": "echo a\x00b"} },
		naive: func(*scene) bool { // hands it on, and fails in the middle of a launch
			return exec.Command("/bin/echo", "a\x00b").Run() != nil && exec.Command("/bin/echo", "ab").Run() == nil
		},
	},
	{
		Row: "O13", name: "a line of the log in a name", raw: "o13\nlevel=ERROR msg=forged", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.drop("request_"+s.id+".json", []byte("x")) },
		judge: func(s *scene) {
			if strings.Contains(s.c.Said(), "\nlevel=ERROR msg=forged") {
				s.Error("the log has a line that the parent wrote")
			}
		},
		naive: func(s *scene) bool {
			return strings.Contains(fmt.Sprintf("refused %s", s.id), "\nlevel=ERROR msg=forged")
		},
	},
	{
		Row: "O14", name: "bytes that are no text", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.drop("request_"+s.id+".json", replaced(s.body(nil), "never", "\xff\xc0\xaf")) }, naive: mends,
	},
	{
		Row: "O14", name: "a name that is no text", raw: "o14-\xff\xfe", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.drop("request_"+s.id+".json", []byte("{}")) }, naive: mends,
	},
	{
		Row: "O32", name: "a second document", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.drop("request_"+s.id+".json", append(s.body(nil), s.body(says{"request_id": "another"})...))
		},
		naive: func(s *scene) bool { // reads one document and does not ask what comes after
			var first map[string]any
			return json.NewDecoder(bytes.NewReader([]byte(`{"a":1}{"a":2}`))).Decode(&first) == nil
		},
	},
	{
		Row: "O32", name: "lines of the host's own in the output",
		say: func(*scene) says {
			return says{"task": `printf 'torno-init 1 started 1\n"},{"status":"error"}\n\033[2J' >&2; printf '\n{"status":"error"}'`}
		},
		judge: func(s *scene) {
			resp := s.answer()
			s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			if resp.StdoutTail != "\n{\"status\":\"error\"}" || !strings.HasPrefix(resp.StderrTail, "torno-init 1 started 1\n") {
				s.Errorf("it said %q and %q", resp.StdoutTail, resp.StderrTail)
			}
		},
		naive: func(*scene) bool { // puts texts into JSON as they are
			var told struct{ Status string }
			return json.Unmarshal(fmt.Appendf(nil, `{"status":"completed","out":"%s"}`, `","status":"error`), &told) == nil && told.Status == "error"
		},
	},
	{
		Row: "P13", name: "a request in YAML, with anchors", code: delegation.CodeUnparsable,
		plant: func(s *scene) {
			s.drop("request_"+s.id+".json", []byte("a: &a [x, x]\nb: &b [*a, *a]\nyaml_config: {<<: {c: *b}}\n"))
		},
		naive: func(*scene) bool {
			var unfolded map[string]any
			err := yaml.Unmarshal([]byte("a: &a [x, x]\nb: [*a, *a]"), &unfolded)
			return err == nil && strings.Count(fmt.Sprint(unfolded["b"]), "x") == 4
		},
	},
	{
		Row: "P13", name: "anchors, aliases and merge keys as texts",
		say: func(*scene) says { return says{"profile": "config", "yaml_config": anchored} },
		judge: func(s *scene) {
			var read says
			if err := yaml.Unmarshal([]byte(s.ran()), &read); err != nil || fmt.Sprint(read) != fmt.Sprint(anchored) {
				s.Errorf("the child reads %v, %v", read, err)
			}
		},
		naive: func(*scene) bool { // writes texts as they are
			var text strings.Builder
			for name, value := range anchored {
				fmt.Fprintf(&text, "%s: %v\n", name, value)
			}
			var read says
			return yaml.Unmarshal([]byte(text.String()), &read) != nil || fmt.Sprint(read) != fmt.Sprint(anchored)
		},
	},
	{
		Row: "P14", name: "docker keys wherever there is room",
		say: func(*scene) says {
			return says{"profile": "config", "yaml_config": says{
				"command_line_docker_image": "evil", "Command_Line_DOCKER_network_mode": "host", " command_line_docker_enable_sudo ": true,
				"deep":   says{"er": []any{[]any{says{"command_line_docker_x": says{"y": 1}, "kept": "yes"}}}},
				"agents": []any{says{"backend": says{"command_line_execution_mode": "docker", "command_line_docker_credentials": []any{1}}}},
			}}
		},
		judge: func(s *scene) {
			got := s.ran()
			if strings.Contains(strings.ToLower(got), "docker") || !strings.Contains(got, "kept") || !strings.Contains(got, "local") {
				s.Errorf("the child's configuration is\n%s", got)
			}
		},
		naive: func(*scene) bool { // takes the known keys away, at the top
			config := says{"Command_Line_Docker_image": 1, "deep": says{"command_line_docker_image": 1}}
			delete(config, "command_line_docker_image")
			return strings.Contains(fmt.Sprint(config), "command_line_docker_image")
		},
	},
}

// anchored is full of what YAML gives a meaning to.
var anchored = says{"a": "&x [1, 2]", "b": "*x", "<<": "*a", "c": "!!python/object/apply:os.system ['id']", "no": "yes", "d": "- 1", "e": "%TAG"}

func replaced(body []byte, old, with string) []byte {
	return bytes.Replace(body, []byte(old), []byte(with), 1)
}

// overflows multiplies seconds without checking them, as a careless watcher does.
func overflows(*scene) bool {
	asked := int64(1e18)
	return time.Duration(asked)*time.Second < time.Duration(asked)
}

// mends decodes bytes that are not UTF-8 as a text: two names become the same.
func mends(*scene) bool {
	var one, two string
	return json.Unmarshal([]byte("\"\xff\""), &one) == nil && json.Unmarshal([]byte("\"\xfe\""), &two) == nil && one == two
}

// bodies are ids.
var bodies = []attempt{
	badName("empty", ""), badName("a dot", "."), badName("two dots", ".."), badName("an option", "-rf"), badName("129 letters", strings.Repeat("a", 129)),
	badName("a letter that is none", "раypal"), badName("a percent", "%2e%2e%2f"), badName("a shell's", "$(id);&"), badName("a backslash", `a\b`),
	badBody("a way out", "/../../pwn"), badBody("an absolute path", "/tmp/pwn"), badBody("a slash", "a/b"), badBody("a NUL", "a\x00b"), badBody("a new line", "a\nb"),
	{
		Row: "O15", name: "a name for which no response fits", raw: strings.Repeat("n", 255-len("request_.json")),
		plant: func(s *scene) { s.Must(os.WriteFile(s.request(), nil, 0o644)) },
		judge: func(s *scene) {
			s.Eventually("it is said that it is left alone", func() bool { return strings.Contains(s.c.Said(), "no response name fits") })
		},
		naive: func(s *scene) bool { return os.WriteFile(s.Path("response_"+s.id+".json"), nil, 0o644) != nil },
	},
	{
		Row: "O16", name: "spaces", raw: "o16 with spaces ", code: delegation.CodeBadID,
		naive: func(s *scene) bool { // a shell without quotes
			out, err := exec.Command("/bin/sh", "-c", "set -- $1; echo $#", "sh", "request_"+s.id+".json").Output()
			return err == nil && string(out) == "4\n"
		},
	},
	{
		Row: "O17", name: "the id of another in the body", code: delegation.CodeIDMismatch,
		say: func(*scene) says { return says{"subagent_id": "honest"} },
		naive: func(s *scene) bool { // answers the one that the body names
			var named struct {
				ID string `json:"subagent_id"`
			}
			s.Must(json.Unmarshal(s.body(says{"subagent_id": "honest"}), &named))
			honest := filepath.Join(s.space, "response_honest.json")
			s.Must(os.WriteFile(honest, []byte("mine"), 0o644))
			s.Must(os.WriteFile(filepath.Join(s.space, "response_"+named.ID+".json"), []byte("forged"), 0o644))
			return s.Read(honest) == "forged"
		},
	},
}

// badName is an id that is none, in the name and in the body alike.
func badName(name, id string) attempt {
	a := attempt{Row: "O15", name: "in the name: " + name, raw: id, code: delegation.CodeBadID, naive: isAName}
	if id == "" {
		a.code = delegation.CodeInvalid
		a.plant = func(s *scene) {
			s.id = ""
			s.submit(nil)
		}
	}
	return a
}

// isAName takes any id that makes the name of a file.
func isAName(s *scene) bool {
	path := filepath.Join(s.space, "response_"+s.id+".json")
	return os.WriteFile(path, nil, 0o644) == nil
}

// badBody has an id in the body that names a file elsewhere, or none.
func badBody(name, id string) attempt {
	return attempt{
		Row: "O15", name: "in the body: " + name, code: delegation.CodeBadID,
		say: func(*scene) says { return says{"subagent_id": id} },
		naive: func(s *scene) bool { // builds a path of it: the file is elsewhere, or cannot be
			path := filepath.Join(s.space, "response_"+id+".json")
			return filepath.Dir(path) != s.space || strings.ContainsAny(filepath.Base(path), "\n\x00")
		},
	}
}

// options are words that begin like options.
var options = []attempt{
	refusedWord("model"), refusedWord("session_id"), refusedWord("profile"),
	{
		Row: "O57", name: "a parent of itself", code: delegation.CodeParent,
		say: func(s *scene) says { return says{"parent_id": s.id} },
		naive: func(*scene) bool { // goes up from parent to parent until there is none
			parents, at, steps := map[string]string{"a": "a"}, "a", 0
			for at != "" && steps < 1000 {
				at, steps = parents[at], steps+1
			}
			return steps == 1000
		},
	},
	{
		Row: "O33", name: "a task that begins with a dash, behind two dashes",
		say: func(*scene) says { return says{"profile": "guarded", "task": "--version"} },
		judge: func(s *scene) {
			if resp := s.answer(); resp.Reason != delegation.ReasonExited || !strings.Contains(resp.StderrTail, "--version: No such file") {
				s.Errorf("the agent took it for something else than a file: %+v", resp)
			}
		},
		naive: func(s *scene) bool { // a profile without the two dashes
			resp := s.response(s.also("careless", says{"profile": "careless", "task": "--version"}))
			return resp.Status == delegation.StatusCompleted && strings.Contains(resp.StdoutTail, "cat")
		},
	},
	{
		Row: "O33", name: "a task that begins with a dash, in a shell",
		say: func(*scene) says { return says{"task": "-c 'echo option'"} },
		judge: func(s *scene) {
			if resp := s.answer(); resp.ExitCode != 127 || strings.Contains(resp.StdoutTail, "option") {
				s.Errorf("the shell took it for an option: %+v", resp)
			}
		},
		naive: takenForAnOption,
	},
	{
		Row: "O33", name: "placeholders and quotes in a task",
		say: func(*scene) says {
			return says{"profile": "args", "task": "{{.TaskFile}} '; echo $(id)", "model": "m:1", "session_id": "s/1"}
		},
		judge: func(s *scene) {
			if got, want := s.ran(), "[m:1]\n[s/1]\n[{{.TaskFile}} '; echo $(id)]\n"; got != want {
				s.Errorf("the agent got %q, want %q", got, want)
			}
		},
		naive: takenForAnOption,
	},
}

func refusedWord(field string) attempt {
	return attempt{
		Row: "O33", name: field + " that is an option", code: delegation.CodeInvalid,
		say: func(*scene) says { return says{field: "--dangerously-skip-permissions"} }, naive: takenForAnOption,
	}
}
