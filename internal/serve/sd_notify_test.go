package serve

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// manager is a service manager that waits for signs of life.
func manager(t *testing.T, watchdog string) (n notifier, said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": watchdog}
	return notifierOf(func(name string) string { return env[name] }), func() string {
		word := make([]byte, 256)
		n, err := conn.Read(word)
		if err != nil {
			t.Fatal(err)
		}
		return string(word[:n])
	}
}

// TestSignsOfLife: each one follows a turn, and a turn that does not come back is followed by none.
func TestSignsOfLife(t *testing.T) {
	n, said := manager(t, "3000")
	turns, stuck, release := 0, make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.showProgress(t.Context(), func(context.Context) error {
			if turns++; turns == 3 {
				close(stuck)
				<-release
				return errors.New("it is over")
			}
			return nil
		})
	}()
	<-stuck
	n.send("behind the turn that is stuck")
	for i, want := range []string{"WATCHDOG=1", "WATCHDOG=1", "behind the turn that is stuck"} {
		if word := said(); word != want {
			t.Errorf("word %d is %q", i, word)
		}
	}
	close(release)
	<-done
}

func TestNoSignIsDueInAReload(t *testing.T) {
	n, said := manager(t, strconv.Itoa(int(time.Minute.Microseconds())))
	n.reloading()
	if word := said(); !strings.HasPrefix(word, "RELOADING=1\nMONOTONIC_USEC=") || !strings.HasSuffix(word, "\nWATCHDOG_USEC=0") {
		t.Errorf("a reload is %q", word)
	}
	n.ready()
	if word := said(); word != "READY=1\nWATCHDOG_USEC=60000000" {
		t.Errorf("its end is %q", word)
	}
}

func TestAManagerThatWaitsForNoSign(t *testing.T) {
	for _, watchdog := range []string{"", "0", "-5", "soon"} {
		n, said := manager(t, watchdog)
		n.showProgress(t.Context(), func(context.Context) error { t.Error("a turn was taken for nobody"); return errors.New("no") })
		n.ready()
		if word := said(); word != "READY=1" {
			t.Errorf("%q: it is told %q", watchdog, word)
		}
	}
	env := map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
	if n := notifierOf(func(name string) string { return env[name] }); n.dog != 0 {
		t.Error("it answers for another process")
	}
}

// TestResultsOfReloads: the one that began after a question answers it, and no earlier one does.
func TestResultsOfReloads(t *testing.T) {
	asked := 0
	r := &reloads{ask: func() { asked++ }}
	first := r.Ask()
	r.take()
	second := r.Ask()
	r.found([]string{"max_running: 3"})
	r.waitFor("an engine")
	if now := r.Result(first.Number); now.Done || now.Waits != "an engine" {
		t.Errorf("before its end it is %+v", now)
	}
	r.waitFor("")
	r.finish(nil)
	if now := r.Result(first.Number); !now.Done || now.Error != "" || len(now.Changes) != 1 {
		t.Errorf("behind its end it is %+v", now)
	}
	if now := r.Result(second.Number); now.Done {
		t.Errorf("what was asked in the middle of it is answered by it: %+v", now)
	}
	r.take()
	r.finish(errStopped)
	r.finish(nil) // the next host greets
	if now := r.Result(second.Number); !now.Done || now.Error != errStopped.Error() || asked != 2 {
		t.Errorf("the second one is %+v, asked %d times", now, asked)
	}
}
