package credential

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/gateway/route"
	"torno/internal/retry"
	"torno/test/wait"
)

// slowly is a route whose credential is not told, and a fast one beside it. begun has the processes that are asked for
// the slow one.
func slowly(t *testing.T) (slow, fast *route.Route, begun string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "slowly")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what was just started may still write there
		ctx, stop := context.WithTimeout(context.Background(), wait.Patience)
		defer stop()
		for os.RemoveAll(dir) != nil && retry.Pause(ctx, time.Millisecond) == nil {
		}
	})
	script, begun := filepath.Join(dir, "print"), filepath.Join(dir, "begun")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ >>"+begun+"\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return routed("slow", route.Credential{Kind: "command", Command: []string{script}, Header: "X-Api-Key"}),
		routed("fast", route.Credential{Kind: "file", Path: written(t, "fast-0123456789\n"), Header: "X-Api-Key"}), begun
}

// TestAnAnswerIsNoOtherQuestions: a question is given up, and the next one is about another route. Connections are used again, so the first
// answer must not come to the second question: the upstream of one route would get the credential of another.
func TestAnAnswerIsNoOtherQuestions(t *testing.T) {
	_, fast, _ := slowly(t)
	other := routed("other", route.Credential{Kind: "file", Path: written(t, "other-0123456789\n"), Header: "X-Api-Key"})
	access := accessTo(t, fast, other)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if r, err := access.ask(gone, ask{What: askRead, Route: "other"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%q, %v", r.Text, err)
		}
		if r, err := access.ask(t.Context(), ask{What: askRead, Route: "fast"}); err != nil || r.Text != "fast-0123456789\n" {
			t.Fatalf("the answer is %q, %v", r.Text, err)
		}
	}
}

// TestConnectionsAreUsedAgain: a question opens none where an earlier one was answered, refused ones too. Only so many wait, and none that
// holds a large answer.
func TestConnectionsAreUsedAgain(t *testing.T) {
	_, fast, _ := slowly(t)
	access := accessTo(t, fast)
	for _, name := range []string{"fast", "none", "fast"} {
		_, _ = access.ask(t.Context(), ask{What: askRead, Route: name})
	}
	if len(access.idle) != 1 {
		t.Errorf("%d connections wait", len(access.idle))
	}
	var all []*line
	for range maxIdle + 3 {
		l, err := access.line()
		if err != nil {
			t.Fatal(err)
		}
		l.left.N = maxReply
		all = append(all, l)
	}
	all[0].left.N -= maxText + 1
	for _, l := range all {
		access.keep(l)
	}
	if len(access.idle) != maxIdle {
		t.Errorf("%d connections wait", len(access.idle))
	}
	if r, err := access.ask(t.Context(), ask{What: askRead, Route: "fast"}); err != nil || r.Text != "fast-0123456789\n" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// TestAReadingThatHangsHoldsNoOtherRouteUp: a child asks again and again by a route whose credential cannot be read to its end, and goes
// each time. More questions than the warden has places are given up, and another route's is answered.
func TestAReadingThatHangsHoldsNoOtherRouteUp(t *testing.T) {
	slow, fast, begun := slowly(t)
	access := accessTo(t, slow, fast)
	ctx, stop := context.WithTimeout(t.Context(), wait.Patience)
	defer stop()
	for ctx.Err() == nil {
		hang(t, access, begun)
		if r, err := access.ask(ctx, ask{What: askRead, Route: "fast"}); err != nil || r.Text != "fast-0123456789\n" {
			t.Errorf("%q, %v", r.Text, err)
		}
		if allHang(t, begun) {
			return
		}
		t.Log("a slow reading was over before the fast one") // a command has its own time
	}
	t.Error("the fast one waits for the slow one")
}

// allHang says whether no slow reading has come to an end yet.
func allHang(t *testing.T, begun string) bool {
	t.Helper()
	text, err := os.ReadFile(begun)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) != nil {
			return false
		}
	}
	return true
}

// hang asks more questions than the warden has places, of which a reading hangs, and gives each of them up.
func hang(t *testing.T, access *Access, begun string) {
	t.Helper()
	if err := os.Remove(begun); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for range maxLines + 1 {
		l, err := access.line()
		if err == nil {
			err = l.write(ask{What: askRead, Route: "slow"})
		}
		if err != nil {
			t.Fatal(err)
		}
		l.conn.Close()
	}
	ctx, stop := context.WithTimeout(t.Context(), wait.Patience)
	defer stop()
	for {
		if text, err := os.ReadFile(begun); err == nil && len(text) > 0 {
			return
		}
		if retry.Pause(ctx, time.Millisecond) != nil {
			t.Fatal("nothing hangs")
		}
	}
}
