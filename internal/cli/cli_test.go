package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// bakery is a program with one command of each kind.
type bakery struct {
	*Program
	out, errors bytes.Buffer
	flour       string
	kinds       []string
	hot, quiet  bool
	loaves      int
	time        time.Duration
	args        Args
	err         error
}

func newBakery() *bakery {
	b := &bakery{}
	b.Program = &Program{
		Name: "bakery", Introduction: "bakery bakes.", FirstSteps: "bakery bake\nbakery eat REF", ExitCodes: []string{"baked", "burnt", "a mistake"},
		Diagnose:  func(err error) Trouble { return Trouble{Exit: 1, Code: "burnt", Text: err.Error()} },
		Reference: "REF", References: "bakery list --quiet",
	}
	run := func(_ context.Context, args Args) (int, error) {
		b.args = args
		fmt.Fprintln(b.Out, "baked")
		return 0, b.err
	}
	b.Commands = []Command{
		{Name: "bake", Operands: "[-- RECIPE…]", Brief: "make bread", About: "It takes a while.", Examples: []string{"bakery bake --hot"}, Run: run, Options: []Option{
			{Name: "flour", Value: "NAME", Help: "which", Set: Text(&b.flour)},
			{Name: "kind", Value: "FILE", Help: "what; it's repeated", Set: List(&b.kinds)},
			{Name: "hot", Short: "w", Help: "serve it so", Set: On(&b.hot)},
			{Name: "quiet", Short: "q", Help: "say little", Set: On(&b.quiet)},
			{Name: "loaves", Short: "n", Value: "N", Help: "how many", Set: Number(&b.loaves)},
			{Name: "time", Value: "TIME", Help: "how long", Set: Duration(&b.time)},
		}},
		{Name: "say", Operands: "[--] WORD…", Brief: "say something to the bread", Run: run},
		{Name: "eat", Operands: "REF", Brief: "don't keep it", Run: run},
	}
	return b
}

func (b *bakery) run(args ...string) int {
	nothing := func(string) string { return "" }
	return b.Main(context.Background(), args, System{nothing, strings.NewReader(""), NewOutput(&b.out, nothing), NewOutput(&b.errors, nothing)})
}

func TestOptionsAndOperands(t *testing.T) {
	b := newBakery()
	code := b.run("bake", "--flour", "rye", "a", "--kind=x=y", "--kind", "z", "-n", "3", "--time=90s", "b", "--hot", "--", "--flour", "--")
	if code != 0 || b.flour != "rye" || len(b.kinds) != 2 || b.kinds[0] != "x=y" || !b.hot || b.loaves != 3 || b.time != 90*time.Second {
		t.Errorf("exit %d, %+v: %s", code, b, &b.errors)
	}
	if fmt.Sprint(b.args) != "{[a b] [--flour --]}" || len(b.args.All()) != 4 {
		t.Errorf("the operands are %q", b.args)
	}
	b = newBakery()
	if code := b.run("bake", "-qw", "x"); code != 0 || !b.hot || !b.quiet || len(b.args.Words) != 1 {
		t.Errorf("switches together: exit %d, %+v", code, b)
	}
	for _, args := range [][]string{{"eat", "x"}, {"--json", "eat", "x"}, {"eat", "x", "--"}} {
		b := newBakery()
		if code := b.run(args...); code != 0 || len(b.args.Words) != 1 || (b.args.Behind != nil) != (args[len(args)-1] == "--") {
			t.Errorf("%q: exit %d, %+v", args, code, b.args)
		}
	}
}

func TestMistakesNameTheNextStep(t *testing.T) {
	for args, want := range map[string]string{
		"":                   "usage: bakery COMMAND",
		"bkae":               "next: did you mean bake?",
		"--hlep":             "next: did you mean --help?",
		"bake --flor x":      "next: did you mean --flour?",
		"bake --zzzzzzzz":    "next: bakery bake --help",
		"bake x --zzzzzzzz":  "next: bakery bake --help",
		"say echo -n hello":  "next: write -- before echo if the option is not for this command",
		"say --zzz hello":    "next: bakery say --help",
		"bake --flour":       "--flour needs a value: NAME",
		"bake --flour -- x":  "--flour needs a value: NAME",
		"bake --flour=":      `--flour "": must not be empty`,
		"bake -qx":           `unknown option "-qx"`,
		"bake -qn 3":         `unknown option "-qn"`,
		"bake --hot=yes":     "--hot takes no value",
		"bake -n 0":          "from 1 on",
		"bake -n many":       "from 1 on",
		"bake --time 0":      "90s, 5m",
		"bake --time -5":     "90s, 5m",
		"bake --time 5x":     "a number alone means seconds",
		"help cake":          `unknown command "cake"`,
		"completion fis":     "next: did you mean fish?",
		"completion":         "completion takes one shell",
		"bake --flour x --x": `unknown option "--x"`,
	} {
		b := newBakery()
		if code := b.run(strings.Fields(args)...); code != 2 || !strings.Contains(b.errors.String(), want) || b.out.Len() > 0 {
			t.Errorf("%q: exit %d, %q, %q; want %q", args, code, &b.out, &b.errors, want)
		}
	}
}

// TestANumberAloneIsOfSeconds: the wire counts the timeout so.
func TestANumberAloneIsOfSeconds(t *testing.T) {
	b := newBakery()
	if code := b.run("bake", "--time", "5"); code != 0 || b.time != 5*time.Second {
		t.Errorf("exit %d, %v, %q", code, b.time, &b.errors)
	}
}

func TestErrors(t *testing.T) {
	b := newBakery()
	b.err = Hint(fmt.Errorf("oven %w", errors.New("cold\x1b[2J\nfake: line")), "light it")
	if code := b.run("bake"); code != 1 || b.errors.String() != "bakery: oven cold\\x1b[2J fake: line\nnext: light it\n" {
		t.Errorf("exit %d, %q", code, &b.errors)
	}
	b = newBakery()
	b.err = Hint(errors.New("cold"), "light it")
	code := b.run("bake", "--json")
	var said struct {
		Error Trouble
		Exit  int
	}
	if err := json.Unmarshal(bytes.TrimPrefix(b.out.Bytes(), []byte("baked\n")), &said); err != nil || code != 1 || said.Exit != 1 || said.Error.Next != "light it" || b.errors.Len() > 0 {
		t.Errorf("exit %d, %v, %q, %q", code, err, &b.out, &b.errors)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnOutputThatIsFullIsAFailure(t *testing.T) {
	b := newBakery()
	nothing := func(string) string { return "" }
	code := b.Main(context.Background(), []string{"bake"}, System{nothing, nil, NewOutput(full{}, nothing), NewOutput(&b.errors, nothing)})
	if code != 1 || !strings.Contains(b.errors.String(), "disk full") {
		t.Errorf("exit %d, %q", code, &b.errors)
	}
}

// TestHelpAndCompletionKnowEverything: what can be said can be found.
func TestHelpAndCompletionKnowEverything(t *testing.T) {
	said := func(args ...string) string {
		b := newBakery()
		if code := b.run(args...); code != 0 {
			t.Fatalf("%q: exit %d, %s", args, code, &b.errors)
		}
		return b.out.String()
	}
	overview := said("help")
	if overview != said("--help") {
		t.Error("help and --help differ")
	}
	for _, cmd := range newBakery().All() {
		if !strings.Contains(overview, "\n  "+cmd.Name) {
			t.Errorf("help does not show %s", cmd.Name)
		}
		explained := said("help", cmd.Name)
		if explained != said(cmd.Name, "--help") {
			t.Errorf("help %s and %s --help differ", cmd.Name, cmd.Name)
		}
		for _, o := range cmd.Options {
			if !strings.Contains(explained, "--"+o.Name+" "+o.Value) && !strings.Contains(explained, "--"+o.Name+"  ") {
				t.Errorf("help %s does not show --%s", cmd.Name, o.Name)
			}
		}
		for _, shell := range shells {
			script := said("completion", shell)
			for _, o := range cmd.Options {
				if !strings.Contains(script, cmd.Name) || !strings.Contains(script, o.Name) {
					t.Errorf("completion %s does not know %s --%s", shell, cmd.Name, o.Name)
				}
			}
		}
	}
}

// TestTheManualKnowsEverything: the page has each command, option and exit code, and nothing in it is a request by accident.
func TestTheManualKnowsEverything(t *testing.T) {
	b := newBakery()
	b.Commands[0].About = ".SH NONSENSE\n'tis \\fBbold"
	if code := b.run("help", "--man"); code != 0 {
		t.Fatalf("exit %d, %s", code, &b.errors)
	}
	page := b.out.String()
	for _, cmd := range b.All() {
		if !strings.Contains(page, ".SS \"bakery "+cmd.Name) {
			t.Errorf("%s is missing", cmd.Name)
		}
		for _, o := range cmd.Options {
			if !strings.Contains(page, roff("--"+o.Name)+`\fR`) {
				t.Errorf("%s --%s is missing", cmd.Name, o.Name)
			}
		}
	}
	for _, said := range []string{`\&.SH NONSENSE`, `\&'tis \efBbold`, ".B 2\na mistake", ".SH NAME\nbakery \\- bakes\n"} {
		if !strings.Contains(page, said) {
			t.Errorf("the page lacks %q:\n%s", said, page)
		}
	}
}

// TestCompletionScriptsAreScripts has each shell that is installed read its own.
func TestCompletionScriptsAreScripts(t *testing.T) {
	for _, shell := range shells {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed: its script is not read by it", shell)
			continue
		}
		b := newBakery()
		b.run("completion", shell)
		check := exec.Command(path, "-n")
		check.Stdin = &b.out
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	b := newBakery()
	b.run("completion", "bash")
	for line, want := range map[string]string{"bakery b": "bake", "bakery bake --f": "--flour", "bakery eat lo": "loaf-1", "bakery completion z": "zsh", "bakery help e": "eat"} {
		words := strings.Fields(line)
		script := fmt.Sprintf("bakery() { echo loaf-1; }\n%s\nCOMP_WORDS=(%s) COMP_CWORD=%d; _bakery; echo \"${COMPREPLY[@]}\"", b.out.String(), line, len(words)-1)
		out, err := exec.Command(bash, "-c", script).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q completes to %q, %v; want %q", line, out, err, want)
		}
	}
}

func TestStrangersCannotRuleATerminal(t *testing.T) {
	hostile := "a\x1b]0;x\a\r\nb\tc\u202e\u200b\xff\u0085é\u00a0"
	if got := visible(hostile); got != "a\\x1b]0;x\\x07\nb\tc\\u202e\\u200b\\xff\\u0085é\u00a0" {
		t.Errorf("visible: %q", got)
	}
	if got := OneLine(hostile); strings.ContainsAny(got, "\n\t\x1b") {
		t.Errorf("OneLine: %q", got)
	}
	if got := OneLine(strings.Repeat("ü", 5000)); len([]rune(got)) != maxLine+1 {
		t.Errorf("OneLine has %d characters", len([]rune(got)))
	}
	var pipe, terminal bytes.Buffer
	(&Output{to: &pipe}).Foreign([]byte(hostile))
	(&Output{to: &terminal, Terminal: true}).Foreign([]byte(hostile))
	if pipe.String() != hostile || terminal.String() != visible(hostile) {
		t.Errorf("a pipe gets %q, a terminal %q", &pipe, &terminal)
	}
	var quoted bytes.Buffer
	(&Output{to: &quoted}).Quoted("one\ntwo")
	if quoted.String() != "  | one\n  | two\n" {
		t.Errorf("Quoted: %q", &quoted)
	}
	var object bytes.Buffer
	if err := (&Output{to: &object}).Object(map[string]string{"k": "a\x7f\u202e\U000e0001"}); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || back["k"] != "a\x7f\u202e\U000e0001" || strings.ContainsFunc(strings.TrimSuffix(object.String(), "\n"), Hidden) {
		t.Errorf("Object: %q, %v", &object, err)
	}
}

func TestTable(t *testing.T) {
	var plain, coloured bytes.Buffer
	rows := [][]Cell{{{"NAME", Bold}, {"N", Bold}}, {{"ünïcödé", Plain}, {"1", Red}}, Row("x", "2")}
	(&Output{to: &plain}).Table("# ", rows)
	if plain.String() != "# NAME     N\n# ünïcödé  1\n# x        2\n" {
		t.Errorf("got\n%s", &plain)
	}
	(&Output{to: &coloured, Colour: true}).Table("", rows)
	if !strings.Contains(coloured.String(), "\x1b[31m1\x1b[0m") || !strings.Contains(coloured.String(), "\x1b[1mNAME\x1b[0m     ") {
		t.Errorf("got\n%q", &coloured)
	}
}

func TestOnlyATerminalIsOne(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for what, stream := range map[string]any{"null": null, "a buffer": &bytes.Buffer{}, "nothing": nil} {
		if IsTerminal(stream) {
			t.Errorf("%s is a terminal", what)
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	defer terminal.Close()
	if !IsTerminal(terminal) {
		t.Error("a terminal is none")
	}
	for env, colour := range map[string]bool{"": true, "NO_COLOR=1": false, "TERM=dumb": false} {
		name, value, _ := strings.Cut(env, "=")
		o := NewOutput(terminal, func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if !o.Terminal || o.Colour != colour {
			t.Errorf("with %q: %+v", env, o)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * time.Second: "30s", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 3601 * time.Second: "1h0m1s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
