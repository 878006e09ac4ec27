package journal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"torno/delegation"
)

// crashEnv makes the test binary the writer that is killed: it names the journal and the round.
const crashEnv = "TORNO_TEST_JOURNAL_WRITER"

func TestMain(m *testing.M) {
	liveIfAsked()
	if path, round, ok := strings.Cut(os.Getenv(crashEnv), "\n"); ok {
		writeUntilKilled(path, round)
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled reports each step on standard output once the journal has reported it as done.
func writeUntilKilled(path, round string) {
	ctx := context.Background()
	j, err := Open(ctx, path)
	for n := 0; err == nil; n++ {
		err = writeOne(ctx, j, fmt.Sprintf("%s.%d", round, n))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func writeOne(ctx context.Context, j *Journal, request string) error {
	subagent, err := delegation.ParseSubagentID("a")
	if err != nil {
		return err
	}
	id, err := delegation.ParseRequestID(request)
	if err != nil {
		return err
	}
	r := Run{Outbox: "main", Subagent: subagent, Request: id, Attempt: 1, State: delegation.StateQueued}
	r.Key = r.RunKey().Hash()
	if _, err := j.Begin(ctx, r); err != nil {
		return err
	}
	fmt.Println(r.Key, r.State)
	at := r.State
	for _, next := range []delegation.State{delegation.StateStarting, delegation.StateRunning, delegation.StateEnded} {
		if err := j.Move(ctx, r.Key, at, next, to(next)); err != nil {
			return err
		}
		fmt.Println(r.Key, next)
		at = next
	}
	return nil
}

func TestNothingReportedIsLostByKill(t *testing.T) {
	path := state(t)
	reported := map[string]delegation.State{}
	for round := range 3 {
		killWriter(t, path, fmt.Sprint(round), 50*(round+1)+round, reported)
		checkAfterCrash(t, path, reported)
	}
}

// killWriter kills a writer after so many steps and adds what it reported until then.
func killWriter(t *testing.T, path, round string, steps int, reported map[string]delegation.State) {
	t.Helper()
	writer := exec.Command(os.Args[0])
	writer.Env = append(os.Environ(), crashEnv+"="+path+"\n"+round)
	writer.Stderr = os.Stderr
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ { // also what was still in the pipe when it died
		key, state, _ := strings.Cut(lines.Text(), " ")
		reported[key] = delegation.State(state)
		if n == steps {
			must(t, writer.Process.Kill())
		}
	}
	if err := writer.Wait(); err == nil || writer.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
}

// checkAfterCrash finds each run in the state that was reported, or one step further: the step whose report was cut off.
func checkAfterCrash(t *testing.T, path string, reported map[string]delegation.State) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "journal.db-wal")); err != nil {
		t.Fatalf("the writer was not killed in the middle of its work: %v", err)
	}
	j, err := Open(context.Background(), path)
	must(t, err)
	defer j.Close()
	var verdict string
	if err := j.write.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("the integrity check says %q, %v", verdict, err)
	}
	further := 0
	for key, state := range reported {
		got := get(t, j, key).State
		if got != state && !legal(state, got) {
			t.Errorf("run %s was reported as %s and is %s", key, state, got)
		}
		if got != state {
			further++
			reported[key] = got
		}
	}
	if further > 1 {
		t.Errorf("%d runs are further than reported, at most one step was in flight", further)
	}
}
