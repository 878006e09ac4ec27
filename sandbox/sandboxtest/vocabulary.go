package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"torno/sandbox"
)

// word is one behaviour of an agent. It exists twice: as the shell script that a real launcher runs, and as the program
// that the fake runs. So one case drives both.
type word struct {
	script  string // for /bin/sh -c, with the arguments as $1 and so on
	program Program
}

// vocabulary holds everything that the suite's agents can do. Times are in seconds. A program that stays says "ready"
// first.
var vocabulary = map[string]word{
	"echo":        {`printf '%s\n' "$1"`, echo},
	"stderr":      {`printf '%s\n' "$1" >&2`, stderr},
	"both":        {`i=0; while [ $i -lt $1 ]; do i=$((i+1)); echo "line $i"; echo "line $i" >&2; done`, both},
	"lines":       {`i=0; while [ $i -lt $1 ]; do i=$((i+1)); echo "line $i$3"; [ "$2" = 0 ] || sleep "$2"; done`, lines},
	"flood":       {`yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c "$1"; echo "the end"`, flood},
	"binary":      {"printf '" + octal(everyByte) + "'", binary},
	"cat":         {`exec cat`, cat},
	"show":        {`exec cat -- "$1"`, show},
	"write":       {`printf '%s\n' "$2" >"$1"`, write},
	"append":      {`printf '%s\n' "$2" >>"$1"`, appendTo},
	"env":         {`exec printenv "$1"`, env},
	"pwd":         {`exec pwd`, pwd},
	"exit":        {`exit "$1"`, exit},
	"self-signal": {`kill "-$1" $$; exec sleep 1000000`, selfSignal},
	"sleep":       {`echo ready; exec sleep 1000000`, sleep},
	"ignore-term": {`trap '' INT TERM; echo ready; while :; do echo alive; sleep 0.05; done`, ignoreTerm},
	"hog":         {`exec tail /dev/zero`, hog},
	"orphan":      {orphanScript, orphan},
}

// orphanScript leaves a process behind that ignores signals and appends to the file $1 for as long as it lives. The
// agent itself goes on for $2 seconds.
const orphanScript = `
setsid sh -c 'trap "" HUP INT TERM; while :; do echo beat; sleep 0.01; done >>"$0"' "$1" </dev/null >/dev/null 2>&1 &
while [ ! -s "$1" ]; do sleep 0.01; done
echo ready
exec sleep "${2:-0}"`

// notExecutable is a file that every sandbox has and that is not a program.
const notExecutable = "/etc/passwd"

// shell returns a word as the command line of a real sandbox.
func shell(name string, args []string) []string {
	return append([]string{"/bin/sh", "-c", vocabulary[name].script, name}, args...)
}

// everyByte holds every value of a byte, in order.
var everyByte = func() (all []byte) {
	for i := range 256 {
		all = append(all, byte(i))
	}
	return all
}()

// octal writes bytes in the form that printf(1) wants.
func octal(raw []byte) string {
	var text strings.Builder
	for _, b := range raw {
		fmt.Fprintf(&text, `\%03o`, b)
	}
	return text.String()
}

func echo(_ context.Context, p ProgramIO) int {
	fmt.Fprintln(p.Stdout, strings.Join(p.Args, " "))
	return 0
}

func stderr(_ context.Context, p ProgramIO) int {
	fmt.Fprintln(p.Stderr, strings.Join(p.Args, " "))
	return 0
}

func both(_ context.Context, p ProgramIO) int {
	for i := range number(p, 0) {
		fmt.Fprintf(p.Stdout, "line %d\n", i+1)
		fmt.Fprintf(p.Stderr, "line %d\n", i+1)
	}
	return 0
}

func lines(ctx context.Context, p ProgramIO) int {
	tag := strings.Join(p.Args[2:], " ")
	for i := range number(p, 0) {
		fmt.Fprintf(p.Stdout, "line %d%s\n", i+1, tag)
		if pause := seconds(p, 1); pause > 0 && p.Sleep(ctx, pause) != nil {
			return 1
		}
	}
	return 0
}

func flood(_ context.Context, p ProgramIO) int {
	block := bytes.Repeat([]byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"), 512)
	for left := number(p, 0); left > 0; left -= len(block) {
		if _, err := p.Stdout.Write(block[:min(left, len(block))]); err != nil {
			return 1
		}
	}
	fmt.Fprintln(p.Stdout, "the end")
	return 0
}

func binary(_ context.Context, p ProgramIO) int {
	p.Stdout.Write(everyByte)
	return 0
}

func cat(_ context.Context, p ProgramIO) int {
	if _, err := io.Copy(p.Stdout, p.Stdin); err != nil {
		return complain(p, err)
	}
	return 0
}

func show(_ context.Context, p ProgramIO) int {
	content, err := p.ReadFile(p.Args[0])
	if err != nil {
		return complain(p, err)
	}
	p.Stdout.Write(content)
	return 0
}

func write(_ context.Context, p ProgramIO) int {
	if err := p.WriteFile(p.Args[0], []byte(p.Args[1]+"\n")); err != nil {
		return complain(p, err)
	}
	return 0
}

func appendTo(_ context.Context, p ProgramIO) int {
	if err := p.AppendFile(p.Args[0], []byte(p.Args[1]+"\n")); err != nil {
		return complain(p, err)
	}
	return 0
}

func env(_ context.Context, p ProgramIO) int {
	i := slices.IndexFunc(p.Env, func(s string) bool { return strings.HasPrefix(s, p.Args[0]+"=") })
	if i < 0 {
		return 1
	}
	fmt.Fprintln(p.Stdout, p.Env[i][len(p.Args[0])+1:])
	return 0
}

func pwd(_ context.Context, p ProgramIO) int {
	fmt.Fprintln(p.Stdout, p.Dir)
	return 0
}

func exit(_ context.Context, p ProgramIO) int { return number(p, 0) }

func selfSignal(_ context.Context, p ProgramIO) int { return 128 + number(p, 0) }

func sleep(ctx context.Context, p ProgramIO) int {
	fmt.Fprintln(p.Stdout, "ready")
	<-ctx.Done()
	return 1
}

func ignoreTerm(ctx context.Context, p ProgramIO) int {
	p.Trap(sandbox.Interrupt, sandbox.Terminate)
	fmt.Fprintln(p.Stdout, "ready")
	for p.Sleep(ctx, 50*time.Millisecond) == nil {
		fmt.Fprintln(p.Stdout, "alive")
	}
	return 1
}

func hog(_ context.Context, p ProgramIO) int { return p.OutOfMemory() }

func orphan(ctx context.Context, p ProgramIO) int {
	began := make(chan struct{})
	p.Spawn(func(ctx context.Context) {
		for first := true; ctx.Err() == nil; p.Sleep(ctx, 10*time.Millisecond) {
			if p.AppendFile(p.Args[0], []byte("beat\n")) == nil && first {
				first = false
				close(began)
			}
		}
	})
	select {
	case <-began:
	case <-ctx.Done():
		return 1
	}
	fmt.Fprintln(p.Stdout, "ready")
	if len(p.Args) > 1 {
		p.Sleep(ctx, seconds(p, 1))
	}
	return 0
}

// number reads a number from an argument of a word. If the argument is no number, the test has a mistake.
func number(p ProgramIO, i int) int {
	n, err := strconv.Atoi(p.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func seconds(p ProgramIO, i int) time.Duration {
	d, err := time.ParseDuration(p.Args[i] + "s")
	if err != nil {
		panic(err)
	}
	return d
}
