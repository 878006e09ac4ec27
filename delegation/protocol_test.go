package delegation

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// protocol is docs/PROTOCOL.md. What it says is held against the code here.
func protocol(t *testing.T) string {
	t.Helper()
	return string(readTestdata(t, "../docs/PROTOCOL.md"))
}

func TestProtocolNamesEverything(t *testing.T) {
	doc := protocol(t)
	for _, kind := range []string{"Code", "Reason", "NoticeCode", "feature"} {
		values := constants(t, kind)
		if len(values) < 4 {
			t.Errorf("only %d constants of %s were found", len(values), kind)
		}
		for _, value := range values {
			if !strings.Contains(doc, "\n| `"+value+"` | ") {
				t.Errorf("%s %s has no row", kind, value)
			}
		}
	}
	for _, kind := range []string{"Status", "State", "EventType"} {
		for _, value := range constants(t, kind) {
			if !strings.Contains(doc, "`"+value+"`") {
				t.Errorf("%s %s is not named", kind, value)
			}
		}
	}
	for _, field := range requestFields {
		if !strings.Contains(doc, "\n| `"+field+"` | ") {
			t.Errorf("field %s has no row", field)
		}
	}
}

// TestProtocolInventsNothing is the other direction: each row of the tables of codes and reasons is in the code.
func TestProtocolInventsNothing(t *testing.T) {
	known := strings.Join(slices.Concat(constants(t, "Code"), constants(t, "Reason"), constants(t, "NoticeCode")), " ")
	for section, least := range map[string]int{"### Reasons": 10, "### Codes": 10, "### Notices": 5} {
		_, rest, _ := strings.Cut(protocol(t), section)
		table, _, _ := strings.Cut(rest, "\n#")
		rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` ").FindAllStringSubmatch(table, -1)
		if len(rows) < least {
			t.Errorf("%s has %d rows", section, len(rows))
		}
		for _, row := range rows {
			if !strings.Contains(known, row[1]) {
				t.Errorf("%s: %s is not in the code", section, row[1])
			}
		}
	}
}

func TestProtocolOfReasons(t *testing.T) {
	doc := protocol(t)
	for _, value := range constants(t, "Reason") {
		good, bad := Reason(value).Wire(0), Reason(value).Wire(1)
		status := fmt.Sprintf("`%s`", good)
		if good != bad {
			status = fmt.Sprintf("`%s` or `%s`", good, bad)
		}
		if row := fmt.Sprintf("\n| `%s` | %s | ", value, status); !strings.Contains(doc, row) {
			t.Errorf("missing: %s", row)
		}
	}
}

func TestProtocolOfLeniencies(t *testing.T) {
	doc := protocol(t)
	_, table, _ := strings.Cut(doc, "### What is forgiven")
	table, _, _ = strings.Cut(table, "\n## ")
	if rows := strings.Count(table, "\n| `"); rows != len(leniencies) {
		t.Errorf("%d rows for %d leniencies", rows, len(leniencies))
	}
	for _, row := range leniencies {
		if want := row.row(); !strings.Contains(table, want) {
			t.Errorf("missing:\n%s", want)
		}
	}
}

// row is a leniency as the protocol shows it.
func (l leniency) row() string {
	cell := func(text string) string {
		if text == "" {
			return "(absent)"
		}
		return "`" + text + "`"
	}
	fields := "`" + strings.Join(l.Fields, "`, `") + "`"
	switch len(l.Fields) {
	case 0:
		fields = "every other name"
	case len(texts):
		fields = "every text"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", l.Name, cell(l.Given), cell(l.Taken), fields, l.Why)
}

func TestProtocolNumbers(t *testing.T) {
	doc := protocol(t)
	for _, says := range []string{
		fmt.Sprintf("nest at most %d\nlevels deep", maxDepth),
		fmt.Sprintf("have at most %d values", maxValues),
		fmt.Sprintf("at most %d files or directories", MaxContextPaths),
		fmt.Sprintf("printable text of 1 to %d bytes", MaxRequestID),
		fmt.Sprintf("at\nmost %d bytes long", MaxSegment),
		fmt.Sprintf("would not fit into %d bytes", maxName),
		requestID(t, "9f2c4e1ab0d37755").Hash(),
	} {
		if !strings.Contains(doc, says) {
			t.Errorf("missing: %s", says)
		}
	}
}

// TestProtocolTexts takes each verbatim text of the page from the code.
func TestProtocolTexts(t *testing.T) {
	doc := protocol(t)
	for members, number := range map[string]string{
		`"version": 7`: "7", `"subagent_id": ""`: "", `"request_id": ""`: "", `"task": ""`: "", `"workspace": ""`: "", `"timeout_seconds": -7`: "-7",
	} {
		_, err := DecodeRequest(withMembers(t, members))
		if err == nil {
			t.Fatalf("%s is taken", members)
		}
		text := err.Error()
		if number != "" {
			text = strings.Replace(text, number, "{n}", 1)
		}
		if !strings.Contains(doc, "\n- `"+text+"`\n") {
			t.Errorf("missing: %s", text)
		}
	}
	err := Response{Version: 1, Status: "{status}"}.check()
	if err == nil || !strings.Contains(doc, "\n- `"+err.Error()+"`\n") {
		t.Errorf("missing: %v", err)
	}
}

// TestProtocolExamples reads every example as the file that its fence names.
func TestProtocolExamples(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```jsonl? (\\S+)\n(.*?)^```$").FindAllStringSubmatch(protocol(t), -1)
	if len(blocks) != 9 {
		t.Errorf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		name, data := block[1], []byte(block[2])
		kind, _ := ParseName(name)
		var err error
		switch kind {
		case KindRequest:
			_, err = DecodeRequest(data)
		case KindResponse:
			_, err = DecodeResponse(data)
		case KindStatus:
			_, err = DecodeRunStatus(data)
		case KindEvents:
			_, err = DecodeEvents(data)
		case KindHeartbeat:
			_, err = DecodeHeartbeat(data)
		case KindInput:
			_, _, n, _ := ParseInputName(name)
			_, err = DecodeInput(data, subagentID(t, "s1"), requestID(t, "9f2c4e1ab0d37755"), n)
		default:
			err = fmt.Errorf("a %v is no example", kind)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProtocolShellClient(t *testing.T) {
	script := fence(t, "sh")
	base := filepath.Dir(newOutbox(t).Path())
	command := exec.CommandContext(t.Context(), "sh", "-ec", script)
	command.Dir = base
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	data, _, err := openOutbox(t, filepath.Join(base, "outbox")).Read("request_hello.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if request, err := DecodeRequest(data); err != nil || request.Task != "echo hello" {
		t.Errorf("%+v, %v", request, err)
	}
}

func TestProtocolPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	outbox := newOutbox(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, python, "-c", fence(t, "python"))
	command.Dir = filepath.Dir(outbox.Path())
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return answerOnce(outbox, subagentID(t, "py")) })
	if info, err := os.Stat(filepath.Join(outbox.Path(), "workspaces", "py")); err != nil || !info.IsDir() {
		t.Errorf("the request names no workspace that is there: %v", err)
	}
	if err := command.Wait(); err != nil || output.String() != "completed 0\n" {
		t.Errorf("%v: %s", err, output.String())
	}
	if left := entries(t, outbox); !slices.Equal(left, []string{"workspaces"}) {
		t.Errorf("left behind: %q", left)
	}
}

// answerOnce is the smallest watcher: first a response to another request, then the right one.
func answerOnce(outbox *Dir, id SubagentID) error {
	data, _, err := outbox.Read(RequestName(id), 1<<20)
	if err != nil {
		return err
	}
	request, err := DecodeRequest(data)
	if err != nil {
		return err
	}
	for _, to := range []string{"an earlier request", request.RequestID.String()} {
		answer, err := Response{Version: 1, SubagentID: id.String(), RequestID: to, Status: StatusCompleted, CompletedAt: instant}.Encode()
		if err != nil {
			return err
		}
		if err := outbox.Publish(ResponseName(id), answer); err != nil {
			return err
		}
	}
	return nil
}

// fence is the one block of code of a language.
func fence(t *testing.T, language string) string {
	t.Helper()
	_, rest, _ := strings.Cut(protocol(t), "\n```"+language+"\n")
	code, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatalf("no block of %s", language)
	}
	return code
}

// constants are the values of a type's constants in this package; "feature" are those whose names begin with Feature.
func constants(t *testing.T, kind string) []string {
	t.Helper()
	var values []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && isOf(spec, kind) {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

func isOf(spec *ast.ValueSpec, kind string) bool {
	if kind == "feature" {
		return spec.Type == nil && strings.HasPrefix(spec.Names[0].Name, "Feature")
	}
	name, ok := spec.Type.(*ast.Ident)
	return ok && name.Name == kind && len(spec.Values) == 1
}
