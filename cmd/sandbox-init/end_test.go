//go:build linux

package main_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"torno/internal/runfile"
)

// TestSaysTheEnd as the last thing on both streams, when nothing is left that could say more, and only where it was asked for.
func TestSaysTheEnd(t *testing.T) {
	token := rand.Text()
	b := newBox(t, `printf out; printf err >&2; (while :; do echo more; echo more >&2; done) & read word; test "$word" = input && exit 3`)
	b.word, b.stdin, b.file.Stdin = runfile.MarkedRelease+token, strings.NewReader("input\n"), true
	r := b.run(t)
	var ends [2]runfile.Ending
	for i, text := range []string{r.stdout, r.stderr} {
		ends[i].Digest = runfile.DigestOf(token)
		said := string(ends[i].Take([]byte(text)))
		if end, ended := ends[i].Ended(); !ended || end.Code != 3 || said+string(runfile.EndMark(token, end)) != text {
			t.Errorf("stream %d: %+v, %t, %.200q", i, end, ended, text)
		}
	}
	if r.status.ExitStatus() != 3 {
		t.Errorf("status %#x, stdout %.200q, stderr %.200q", r.status, r.stdout, r.stderr)
	}
	plain := newBox(t, "printf out").run(t)
	if plain.exits(t, 0); plain.stdout != "out" {
		t.Errorf("without a token it says %q", plain.stdout)
	}
}

// TestATokenThatDoesNotComeReleasesNothing.
func TestATokenThatDoesNotComeReleasesNothing(t *testing.T) {
	b := newBox(t, marks)
	b.word = runfile.MarkedRelease + "half of it"
	if r := b.run(t); r.status.ExitStatus() != runfile.AbandonedExit || r.stdout != "" {
		t.Errorf("status %#x, stdout %q", r.status, r.stdout)
	}
}

// TestAnEndThatNobodyHearsHoldsNothingUp: the agent has filled a pipe that is not read.
func TestAnEndThatNobodyHearsHoldsNothingUp(t *testing.T) {
	b := newBox(t, `for size in 4096 1; do dd if=/dev/zero bs=$size count=9999 oflag=nonblock >&2 2>/dev/null; done; exit 0`)
	b.word = runfile.MarkedRelease + rand.Text()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	b.stderr = write
	r := b.start(t)
	late := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	_ = r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); !late.Stop() || code != runfile.ExitFor(0) {
		t.Errorf("it ended with %d", code)
	}
}
