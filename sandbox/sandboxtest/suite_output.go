package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"torno/sandbox"
)

var outputCases = []testCase{
	{"init's line is first on standard error", startedFirst},
	{"standard error is the agent's after that", stderrIsTheAgents},
	{"each stream keeps its order", streamsKeepOrder},
	{"a thousand lines at once keep their order", burstKeepsOrder},
	{"two sandboxes do not mix", twoDoNotMix},
	{"a cut stream continues where it was", cutStream},
	{"close ends the output and nothing else", closeDetaches},
	{"open after the end replays all", openAfterEnd},
	{"open at the end has nothing more", openAtEnd},
	{"output waits for a late reader", lateReader},
	{"binary output is unharmed", binaryOutput},
	{"much output loses nothing silently", muchOutput},
	{"wait from two attachments", twoWait},
	{"wait ends with its context", waitEnds},
}

func startedFirst(b *bench) {
	before := time.Now()
	r := b.runs(b.spec("exit", "0"))
	// Engines keep their own clocks. One second is much less than any mistake that matters.
	if r.started.Before(before.Add(-time.Second)) || r.started.After(time.Now().Add(time.Second)) {
		b.Errorf("init says that it started at %v, it was asked to at %v", r.started, before)
	}
	b.same("stdout", r.stdout, "")
	b.same("stderr after the started line", r.errors, "")
}

func stderrIsTheAgents(b *bench) {
	mock := "torno-init 1 failed mount nothing is wrong"
	r := b.runs(b.spec("stderr", mock))
	b.same("stderr", r.errors, mock+"\n")
	b.succeeds(r)
}

func streamsKeepOrder(b *bench) {
	r := b.runs(b.spec("both", "200"))
	b.same("stdout", r.stdout, numbered(200, ""))
	b.same("stderr", r.errors, numbered(200, ""))
}

func burstKeepsOrder(b *bench) {
	r := b.runs(b.spec("lines", "1000", "0"))
	b.same("stdout", r.stdout, numbered(1000, ""))
	if r.gap {
		b.Error("there is a gap in what is not much")
	}
}

func twoDoNotMix(b *bench) {
	_, one, first := b.run(b.spec("lines", "30", "0.01", " of one"))
	_, two, second := b.run(b.spec("lines", "30", "0.01", " of two"))
	b.read(one, first, first.has(1))
	b.read(two, second, second.has(1))
	b.read(one, first, nil)
	b.read(two, second, nil)
	b.same("stdout of one", first.stdout, numbered(30, " of one"))
	b.same("stdout of two", second.stdout, numbered(30, " of two"))
}

// cutStream lets one second pass between two attachments, by the agent's own clock.
func cutStream(b *bench) {
	h, a, cut := b.run(b.spec("lines", "20", "0.1"))
	var whole transcript
	b.read(a, cut, cut.has(3))
	b.must(a.Close())
	other := b.open(h, "")
	b.read(other, &whole, whole.has(13))
	b.read(b.open(h, cut.cursor), cut, nil)
	b.read(other, &whole, nil)
	b.same("stdout in two parts", cut.stdout, numbered(20, ""))
	b.same("stderr in two parts", cut.stderr, string(whole.stderr))
	b.same("stdout in one part", whole.stdout, numbered(20, ""))
	if cut.gap || whole.gap {
		b.Error("there is a gap in what is not much")
	}
}

func closeDetaches(b *bench) {
	h, a, seen := b.run(b.spec("lines", "10", "0.1"))
	b.read(a, seen, seen.has(1))
	b.must(a.Close())
	b.must(a.Close())
	b.read(a, seen, nil)
	r := b.finish(b.open(h, ""))
	b.same("stdout", r.stdout, numbered(10, ""))
	b.succeeds(r)
}

func openAfterEnd(b *bench) {
	h, a, seen := b.run(b.spec("both", "100"))
	first := b.rest(a, seen)
	second := b.finish(b.open(h, ""))
	b.same("stdout", second.stdout, string(first.stdout))
	b.same("stderr", second.stderr, string(first.stderr))
	if first.exit != second.exit && (first.exit.Code != second.exit.Code || !first.exit.FinishedAt.Equal(second.exit.FinishedAt)) {
		b.Errorf("it ended twice: %+v, %+v", first.exit, second.exit)
	}
}

func openAtEnd(b *bench) {
	h, a, seen := b.run(b.spec("both", "100"))
	whole := b.rest(a, seen)
	var more transcript
	b.read(b.open(h, whole.cursor), &more, nil)
	b.same("stdout after its end", more.stdout, "")
	b.same("stderr after its end", more.stderr, "")
	if more.gap {
		b.Error("there is a gap after the end")
	}
}

func lateReader(b *bench) {
	_, a, seen := b.run(b.spec("lines", "1000", "0"))
	b.exits(b.wait(a), 0)
	b.same("stdout", b.rest(a, seen).stdout, numbered(1000, ""))
}

func binaryOutput(b *bench) {
	b.same("stdout", b.runs(b.spec("binary")).stdout, string(everyByte))
}

// muchOutput prints far more than the log may keep.
func muchOutput(b *bench) {
	size := 64 * mib
	if !b.suite.Real || testing.Short() {
		size = 4 * mib
	}
	spec := b.spec("flood", fmt.Sprint(size))
	spec.Limits.Log = 1 * mib
	h, a, r := b.run(spec)
	b.exits(b.end(a, r), 0)
	want := size + len("the end\n")
	if !bytes.HasSuffix(r.stdout, []byte("the end\n")) || len(r.stdout) > want || len(r.stdout) < want && !r.gap {
		b.Errorf("got %d of %d bytes, gap %t, the end is %q", len(r.stdout), want, r.gap, tail(r.stdout))
	}
	var again transcript
	b.read(b.open(h, ""), &again, nil)
	if !again.gap || !bytes.HasSuffix(again.stdout, []byte("the end\n")) || len(again.stdout) > 4*mib {
		b.Errorf("the replay of a log of 1 MiB has %d bytes, gap %t, its end is %q", len(again.stdout), again.gap, tail(again.stdout))
	}
}

func twoWait(b *bench) {
	h, first, begun := b.run(b.spec("lines", "5", "0.1"))
	attachments := []sandbox.Attachment{first, b.open(h, "")}
	var exits [2]sandbox.Exit
	var errs [2]error
	var waits sync.WaitGroup
	for i, a := range attachments {
		waits.Go(func() { exits[i], errs[i] = a.Wait(b.ctx) })
	}
	for i, seen := range []*transcript{begun, {}} {
		b.read(attachments[i], seen, nil)
		b.same("stdout", seen.stdout, numbered(5, ""))
	}
	waits.Wait()
	b.must(errors.Join(errs[:]...))
	if !exits[0].FinishedAt.Equal(exits[1].FinishedAt) || exits[0].Code != 0 || exits[1].Code != 0 {
		b.Errorf("one sandbox ended twice: %+v, %+v", exits[0], exits[1])
	}
	again := b.wait(attachments[0])
	if !again.FinishedAt.Equal(exits[0].FinishedAt) {
		b.Errorf("Wait again: %+v, before: %+v", again, exits[0])
	}
}

func waitEnds(b *bench) {
	a, seen := b.ready(b.spec("sleep"))
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if exit, err := a.Wait(ctx); !errors.Is(err, context.Canceled) {
		b.Errorf("Wait with an ended context: %+v, %v", exit, err)
	}
	b.must(a.Signal(b.ctx, sandbox.Kill))
	b.exits(b.end(a, seen), 137)
}
