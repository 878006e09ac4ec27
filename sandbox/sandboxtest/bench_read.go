package sandboxtest

import (
	"bytes"
	"strings"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// transcript is the output of a sandbox as far as it was read.
type transcript struct {
	stdout, stderr []byte
	cursor         sandbox.Cursor
	gap            bool
	attestation    sandbox.Attestation // made before the sandbox's release
}

// read adds output to a transcript until enough returns true. If enough is nil, it reads until the output ends.
func (b *bench) read(a sandbox.Attachment, to *transcript, enough func() bool) {
	b.Helper()
	for enough == nil || !enough() {
		select {
		case chunk, more := <-a.Output():
			if !more && enough == nil {
				return
			}
			if !more {
				b.Fatalf("the output ended early; stdout %q, stderr %q", tail(to.stdout), tail(to.stderr))
			}
			to.add(chunk)
		case <-b.ctx.Done():
			b.Fatalf("no more output came; stdout %q, stderr %q", tail(to.stdout), tail(to.stderr))
		}
	}
}

func (to *transcript) add(c sandbox.Chunk) {
	to.cursor = c.Cursor
	to.gap = to.gap || c.Gap
	if c.Stream == sandbox.Stdout {
		to.stdout = append(to.stdout, c.Bytes...)
	} else {
		to.stderr = append(to.stderr, c.Bytes...)
	}
}

// says returns a condition for read: standard output holds text.
func (to *transcript) says(text string) func() bool {
	return func() bool { return bytes.Contains(to.stdout, []byte(text)) }
}

// has returns a condition for read: standard output has n lines.
func (to *transcript) has(n int) func() bool {
	return func() bool { return bytes.Count(to.stdout, []byte("\n")) >= n }
}

// result describes a whole run.
type result struct {
	transcript
	started time.Time // as init said
	errors  []byte    // the agent's own standard error
	exit    sandbox.Exit
}

// finish reads a released sandbox's output from its beginning to its end, and waits for the exit.
func (b *bench) finish(a sandbox.Attachment) result {
	b.Helper()
	return b.rest(a, &transcript{})
}

// rest reads the rest of a run's output, and waits for the exit.
func (b *bench) rest(a sandbox.Attachment, seen *transcript) (r result) {
	b.Helper()
	r.exit = b.end(a, seen)
	r.transcript = *seen
	r.started, r.errors = b.afterStarted(r.stderr)
	return r
}

// runs does a whole run of a spec.
func (b *bench) runs(spec sandbox.Spec) result {
	b.Helper()
	_, a, seen := b.run(spec)
	return b.rest(a, seen)
}

// ready runs an agent that stays, and waits until the agent says "ready".
func (b *bench) ready(spec sandbox.Spec) (sandbox.Attachment, *transcript) {
	b.Helper()
	_, a, seen := b.run(spec)
	b.read(a, seen, seen.says("ready\n"))
	return a, seen
}

// end reads the rest of the output into seen, and waits for the exit.
func (b *bench) end(a sandbox.Attachment, seen *transcript) sandbox.Exit {
	b.Helper()
	b.read(a, seen, nil)
	return b.wait(a)
}

func (b *bench) wait(a sandbox.Attachment) sandbox.Exit {
	b.Helper()
	exit, err := a.Wait(b.ctx)
	b.must(err)
	return exit
}

// afterStarted takes init's lines off the beginning of standard error. If anything else is there, the case fails.
func (b *bench) afterStarted(stderr []byte) (time.Time, []byte) {
	b.Helper()
	text, holds := strings.CutPrefix(string(stderr), runfile.Holding)
	if !holds {
		b.Fatalf("standard error begins with %q, and init does not hold", tail(stderr))
	}
	line, rest, whole := strings.Cut(text, "\n")
	at, err := runfile.ParseFirstLine(line)
	if !whole || err != nil {
		b.Fatalf("standard error begins with %q, not with init's started line: %v", tail([]byte(line)), err)
	}
	return at, []byte(rest)
}

// exits checks an exit code.
func (b *bench) exits(e sandbox.Exit, code int) {
	b.Helper()
	if e.Code != code {
		b.Errorf("exit code %d, want %d", e.Code, code)
	}
}

// succeeds checks that a run ended with 0. If not, it shows the run's output.
func (b *bench) succeeds(r result) {
	b.Helper()
	if r.exit.Code != 0 {
		b.Errorf("exit code %d, stdout %q, stderr %q", r.exit.Code, tail(r.stdout), tail(r.errors))
	}
}

// same compares output. Of long output it shows only the end.
func (b *bench) same(what string, got []byte, want string) {
	b.Helper()
	if string(got) != want {
		b.Errorf("%s: got %d bytes that end in %q, want %d bytes that end in %q", what, len(got), tail(got), len(want), tail([]byte(want)))
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-300):] }
