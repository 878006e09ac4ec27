package agentfile_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"torno/manager/agentfile"
)

// holdIn is set for the process that TestASessionEndsWithItsHolder kills.
const holdIn = "TORNO_TEST_HOLD_IN"

var reviewer = &agentfile.Agent{Name: "reviewer"}

func TestOneConversationAtATime(t *testing.T) {
	state := openRoot(t)
	first, err := agentfile.Hold(state, reviewer)
	if err != nil {
		t.Fatal(err)
	}
	_, err = agentfile.Hold(state, reviewer)
	var busy *agentfile.BusyError
	if !errors.As(err, &busy) || busy.Agent != "reviewer" {
		t.Errorf("got %v", err)
	}
	other, err := agentfile.Hold(state, &agentfile.Agent{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*agentfile.Session{first, other} {
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	}
	again, err := agentfile.Hold(state, reviewer)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestASessionEndsWithItsHolder(t *testing.T) {
	state := openRoot(t)
	holder := exec.CommandContext(t.Context(), os.Args[0])
	holder.Env = append(os.Environ(), holdIn+"="+state.Name())
	says, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(says).ReadString('\n')
	if err != nil || said != "held\n" {
		t.Errorf("got %q, %v", said, err)
	}
	var busy *agentfile.BusyError
	if _, err := agentfile.Hold(state, reviewer); !errors.As(err, &busy) {
		t.Errorf("got %v while another process holds it", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = holder.Wait() // it was killed, which is its error
	held, err := agentfile.Hold(state, reviewer)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(); err != nil {
		t.Error(err)
	}
}

// TestMain is also the process that holds a session until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(holdIn); dir != "" {
		os.Exit(hold(dir))
	}
	os.Exit(m.Run())
}

func hold(dir string) int {
	state, err := os.OpenRoot(dir)
	if err != nil {
		return 1
	}
	held, err := agentfile.Hold(state, reviewer)
	if err != nil {
		return 1
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // which ends with the test's process, should that be killed first
	if held.Release() != nil {
		return 1
	}
	return 0
}

// TestALockThatIsALink: a link that leads out of the directory is not followed.
func TestALockThatIsALink(t *testing.T) {
	state := openRoot(t)
	if err := state.Symlink("/etc/passwd", "reviewer.lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := agentfile.Hold(state, reviewer); err == nil {
		t.Error("a link was followed")
	}
}
