package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"torno/internal/cli"
)

// docs/CLIENT.md is what users rely on: it names every command, option, exit code and field.
func TestTheDocumentIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/CLIENT.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(data)
	var wanted []string
	c := newApp()
	for _, cmd := range c.All() {
		wanted = append(wanted, "`subagent "+cmd.Name)
		for _, o := range c.OptionsOf(cmd) {
			wanted = append(wanted, "`--"+o.Name)
		}
	}
	for code, meaning := range exitCodes {
		wanted = append(wanted, fmt.Sprintf("| %d | %s |", code, meaning))
	}
	for _, known := range troubles {
		wanted = append(wanted, "`"+known.code+"`")
	}
	for _, shape := range []any{spawned{}, ended{}, listed{}, cli.Trouble{}, got{}, changed{}, applied{}, facts{}} {
		for f := range reflect.TypeOf(shape).Fields() {
			// Details are for configurations, which this program has none of.
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && name != "details" {
				wanted = append(wanted, "`"+name+"`")
			}
		}
	}
	for _, want := range wanted {
		if !strings.Contains(document, want) {
			t.Errorf("not there: %s", want)
		}
	}
}

// The example in the document is the one that compiles.
func TestTheExampleOfTheDocumentIsCompiled(t *testing.T) {
	document, err := os.ReadFile("../../docs/CLIENT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(document), "```go\n")
	example, _, ok := strings.Cut(rest, "```")
	compiled, err := os.ReadFile("../../manager/example_test.go")
	if err != nil || !ok || !strings.Contains(string(compiled), example) {
		t.Errorf("the example is another one: %v\n%s", err, example)
	}
}
