package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/retry"
	"torno/sandbox/gvisor/keeper/output"
)

// TestOutputIsWhole: a hundred MiB of which every byte is known, through a log of one and a reader that is slower.
func TestOutputIsWhole(t *testing.T) {
	const mebibytes = 100
	box := newBox(t, 1<<20, "run", "exec "+self(t)+" "+asRuntime+" yes 100")
	line := start(t, box)
	expected := &counting{}
	at := 0
	for {
		out, err := line.Read(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || out.Gap || out.Kind != output.Stdout {
			t.Fatalf("at %d: %v, %c, gap %v", at, err, out.Kind, out.Gap)
		}
		whole := make([]byte, (len(out.Bytes)+at%4+3)/4*4)
		expected.at = uint32(at / 4)
		expected.Read(whole)
		if !bytes.Equal(out.Bytes, whole[at%4:at%4+len(out.Bytes)]) {
			t.Fatalf("the bytes at %d are others", at)
		}
		at += len(out.Bytes)
		if out.Progress.Out != int64(at) {
			t.Fatalf("the progress is %v at %d", out.Progress, at)
		}
	}
	if at != mebibytes<<20 || line.End().Code != 0 {
		t.Errorf("%d bytes, %+v", at, line.End())
	}
}

// TestAttachBeforeWhileAndAfter: from every place that was seen, by any watcher, in any state.
func TestAttachBeforeWhileAndAfter(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "echo one; read x; echo $x; exit 2"), Stdin: true, Log: 1 << 20})
	first := start(t, box)
	one, err := first.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := box.Attach(t.Context(), one.Progress)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Input([]byte("two\n")); err != nil {
		t.Fatal(err)
	}
	for what, line := range map[string]*Line{"first": first, "second": second} {
		if stdout, _, gaps := readAll(t, line); stdout != "two\n" || gaps != 0 || line.End().Code != 2 {
			t.Errorf("%s: %q, %d gaps, %+v", what, stdout, gaps, line.End())
		}
	}
	if !waitUntil(func() bool { lives, err := held(box); return err == nil && !lives }) {
		t.Fatal("the keeper does not go")
	}
	for from, want := range map[output.Progress]string{{}: "one\ntwo\n", one.Progress: "two\n", {Out: 6}: "o\n", {Out: 8}: "", {Out: 900}: ""} {
		line, err := box.Attach(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if stdout, _, gaps := readAll(t, line); stdout != want || gaps != 0 || line.End().Code != 2 {
			t.Errorf("from %v: %q, %d gaps, %+v", from, stdout, gaps, line.End())
		}
		if err := errors.Join(line.Close(), line.Close()); err != nil {
			t.Error(err)
		}
	}
	closed, err := box.Attach(t.Context(), output.Progress{})
	if err == nil {
		err = closed.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Read(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a line that is closed says %v", err)
	}
}

func TestInputEnds(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "wc -c"), Stdin: true, Log: 1 << 20})
	line := start(t, box)
	if err := errors.Join(line.Input(make([]byte, 300_000)), line.Shut()); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := readAll(t, line); stdout != "300000\n" {
		t.Errorf("%q", stdout)
	}
}

// TestLastWords: what a watcher says before it dies is heard, also where the keeper notices first that it cannot be told
// anything any more.
func TestLastWords(t *testing.T) {
	script := "head -c 4000000 /dev/zero; until [ -e go ]; do sleep 0.01; done; wc -c >heard; exit 9"
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", script), Stdin: true, Log: 8 << 20})
	line := start(t, box)
	const said = 100_000 // more than a pipe holds
	if err := errors.Join(line.Input(make([]byte, said)), line.Shut(), line.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := box.Attach(t.Context(), output.Progress{}) // by then the keeper knows
	if err == nil {
		_, err = again.Read(t.Context())
	}
	if err = errors.Join(err, again.Close(), os.WriteFile(filepath.Join(box.Dir, "go"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if end, err := box.AwaitEnd(ctx); err != nil || end.Code != 9 {
		t.Fatalf("%+v, %v", end, err)
	}
	if heard, err := os.ReadFile(filepath.Join(box.Dir, "heard")); err != nil || strings.TrimSpace(string(heard)) != strconv.Itoa(said) {
		t.Errorf("%s of %d bytes were heard, %v", heard, said, err)
	}
}

// TestInputBeforeItRuns: input that comes after the release waits for the agent.
func TestInputBeforeItRuns(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", "cat"), Stdin: true, Log: 1 << 20})
	line, theirs, err := box.newPair()
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	if err := errors.Join(line.Release(), line.Input([]byte("early")), line.Shut(), box.execute(self(t), apart(), []*os.File{theirs}), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := readAll(t, line); stdout != "early" {
		t.Errorf("%q", stdout)
	}
}

// TestAKeeperThatIsKilled: what it had in the log is read all the same, and then it is gone.
func TestAKeeperThatIsKilled(t *testing.T) {
	box := newBox(t, 8<<20, "run", "head -c 2000000 /dev/zero; echo done; exec sleep 86322")
	line := start(t, box)
	sentry := sentryOf(t, box)
	defer unix.Kill(sentry, unix.SIGKILL)
	if !waitUntil(func() bool { return printed(box, "done\n") }) {
		t.Fatal("the agent prints nothing")
	}
	killKeeper(t, box)
	wantState(t, box, Lost)
	size := 0
	var err error
	for err == nil {
		var out Output
		out, err = line.Read(t.Context())
		size += len(out.Bytes)
	}
	if !errors.Is(err, ErrGone) || size != 2_000_005 {
		t.Errorf("%v after %d bytes", err, size)
	}
	if _, err := box.AwaitEnd(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if err := box.Kill(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
}

// TestAWatcherThatStopsReading holds the agent until it goes, or until another watcher dismisses the keeper.
func TestAWatcherThatStopsReading(t *testing.T) {
	for _, goes := range []bool{true, false} {
		box := newBox(t, 1, "run", "head -c 2000000 /dev/zero; echo done; exec sleep 86322")
		line := start(t, box) // it is never read
		isDone := func() bool { return printed(box, "done\n") }
		if goes {
			line.Close()
			if !waitUntil(isDone) {
				t.Error("a watcher that is gone holds the agent")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !goes && (!stands(box) || isDone()) {
			t.Error("the agent was not held")
		}
		if err := box.Dismiss(ctx); err != nil {
			t.Error(err)
		}
		if !waitUntil(func() bool { lives, err := held(box); return err == nil && !lives }) {
			t.Error("a watcher that does not read holds a keeper that is to leave")
		}
	}
}

// stands waits until a log that is full does not go on any more.
func stands(box Box) bool {
	last, same := "", 0
	return waitUntil(func() bool {
		names, _ := filepath.Glob(filepath.Join(box.Dir, "log.*"))
		if now := fmt.Sprint(names); now != last {
			last, same = now, 0
		}
		same++
		return len(names) == 2 && same > 50
	})
}

// TestNonsense: what says nothing, or nothing that makes sense, costs neither memory nor the end.
func TestNonsense(t *testing.T) {
	box := newBox(t, 1<<20, "run", "echo up; exec sleep 86322")
	line := start(t, box)
	if _, err := line.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeper := keeperOf(t, box)
	before := len(descriptors(t, keeper))
	for _, hello := range []string{"", "\n\x00", "nonsense\n", "-1.0\n", "0.0\nnonsense that is long enough for a frame", "end\nend\nend\n"} {
		conn, err := box.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, hello)
		conn.Close()
	}
	endless, err := box.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	if n, err := endless.Write(make([]byte, 8<<20)); err == nil {
		t.Errorf("a greeting of %d bytes was taken", n)
	}
	silent, err := box.dial(t.Context()) // until the end
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if !waitUntil(func() bool { return len(descriptors(t, keeper)) <= before+1 }) {
		t.Errorf("it had %d descriptors, and has %v", before, descriptors(t, keeper))
	}
	if err := box.Dismiss(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !waitUntil(func() bool { return !isAlive(keeper) }) {
		t.Error("a keeper that was dismissed does not leave")
	}
}

// TestSilenceHoldsNoKeeper: a keeper that is to leave does not wait for the greeting of a watcher that says nothing.
func TestSilenceHoldsNoKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, ours := net.Pipe()
		defer silent.Close()
		leaving, leave := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Second, leave)
		if attend := newKeeper(nil).greet(leaving, ours, false); attend != nil || time.Since(begin) != time.Second {
			t.Errorf("after a second it is to leave, and it waits for %s", time.Since(begin))
		}
	})
}

func descriptors(t testing.TB, pid int) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCallersAreHeard by calls that wait for a keeper that is stopped.
func TestCallersAreHeard(t *testing.T) {
	box := newBox(t, 1<<20, "run", "echo up; exec sleep 86322")
	line := start(t, box)
	if _, err := line.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	keeper := keeperOf(t, box)
	if err := unix.Kill(keeper, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(keeper, unix.SIGCONT)
	if err := waitStopped(keeper); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(context.Context) error{
		"Kill": box.Kill, "Dismiss": box.Dismiss, "AwaitEnd": func(ctx context.Context) error { _, err := box.AwaitEnd(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}

// waitStopped waits until a child has stopped: the signal alone does not stop its threads at once.
func waitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// TestAKeeperThatDoesNotListenYet is waited for, and not taken for dead.
func TestAKeeperThatDoesNotListenYet(t *testing.T) {
	box := newBox(t, 1<<20, "run", "exit 0")
	begins, err := box.Lock() // as it does before all else
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := box.AwaitEnd(ctx); ended <- err }()
	go func() {
		line, err := box.Attach(ctx, output.Progress{})
		if err == nil {
			line.Close()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("a keeper that begins is taken for dead: %v", err)
		ended <- err
	case <-time.After(50 * retry.Soon):
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	begins.Close()
}

// TestAWatcherThatGoesWithoutAReleaseEndsTheHold: the input of what holds ends, and a later watcher cannot give the word any more.
func TestAWatcherThatGoesWithoutAReleaseEndsTheHold(t *testing.T) {
	box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", `read word || exit 7; echo "$word"`), Word: "go\n", Log: 1 << 20})
	line, err := box.Start(t.Context(), self(t), apart())
	if err != nil {
		t.Fatal(err)
	}
	if err := line.Close(); err != nil {
		t.Fatal(err)
	}
	later, err := box.Attach(t.Context(), output.Progress{})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	_ = later.Release() // it is not the first watcher; the keeper may be gone
	stdout, _, _ := readAll(t, later)
	if end := later.End(); end.Code != 7 || stdout != "" {
		t.Errorf("it ended with %+v and said %q", end, stdout)
	}
}

// TestTheWordComesBeforeTheInput, once, and where there is no input nothing comes after it. The agent lives until its second release: without
// that the second word would find no reader.
func TestTheWordComesBeforeTheInput(t *testing.T) {
	for _, stdin := range []bool{true, false} {
		goOn := filepath.Join(t.TempDir(), "go-on")
		agent := fmt.Sprintf(`read word; echo "$word"; until test -e '%s'; do sleep 0.01; done; cat`, goOn)
		box := boxIn(t, t.TempDir(), Order{Argv: standInArgv("run", agent), Word: "go\n", Stdin: stdin, Log: 1 << 20})
		line := start(t, box)
		want := "go\n"
		if err := line.Release(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if stdin {
			want += "rest\n"
			if err := errors.Join(line.Input([]byte("rest\n")), line.Shut()); err != nil {
				t.Fatal(err)
			}
		}
		if stdout, _, _ := readAll(t, line); stdout != want {
			t.Errorf("stdin %t: %q, want %q", stdin, stdout, want)
		}
	}
}
