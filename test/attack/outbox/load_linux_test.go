package outbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// TestLoadCostsLittle does to one watcher what costs a parent little. It is judged by the processor's time.
func TestLoadCostsLittle(t *testing.T) {
	second := filepath.Join(t.TempDir(), "second")
	h := house.New(t, house.Plan{
		Dirs: []string{second + "/workspaces"}, Extra: fmt.Sprintf("  second:\n    dir: %[1]s\n    allow: [%[1]s/workspaces]\n    profiles: [sh]", second),
	})
	t.Run("storm", func(t *testing.T) { storm(t, h, h.Beside(second)) })
	t.Run("junk", func(t *testing.T) { junk(t, h) })
}

// junk fills an outbox with names and watches what the watcher spends on them, beside a process that looks at all of them
// every half second, as MassGen's watcher does.
func junk(t *testing.T, h *house.House) {
	n := attack.Times(20_000, 100_000)
	for i := range n {
		h.Touch(fmt.Sprintf("%s_junk%d.json", []string{"junk", "request.new", "respons", "events"}[i%4], i))
	}
	for i := range 500 {
		h.Touch(fmt.Sprintf("request_empty%d.json", i))
	}
	h.Want(h.Run(house.Ask{ID: "honest", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Eventually("what is called a request is answered", func() bool { return h.Exists("response_empty499.json") })
	spent, naive := atRest(h), 100*lookAtAll(h).Seconds()/0.5
	for range 4 { // it may still have had events to read
		if spent >= 3 {
			spent = atRest(h)
		}
	}
	attack.Record(t, attack.Trial{
		Row: "O26", Where: "docker", Tried: 1, Held: count(spent < 3 && spent < naive/3), Oracle: naive > 3,
		Note: fmt.Sprintf("%d files: %.1f %% of a core, a poller's %.1f %%", n, spent, naive),
	})
}

// atRest is the share of a core in percent that the watcher takes over some seconds without a request.
func atRest(h *house.House) float64 {
	begin, before := time.Now(), cpu(h)
	<-time.After(3 * time.Second)
	return percent(cpu(h)-before, time.Since(begin))
}

func percent(part, of time.Duration) float64 { return 100 * part.Seconds() / of.Seconds() }

// cpu is what the watcher has spent.
func cpu(h *house.House) time.Duration {
	h.Helper()
	_, stat, _ := strings.Cut(h.Read(fmt.Sprintf("/proc/%d/stat", h.PID())), ") ")
	fields := strings.Fields(stat)
	var user, system int64
	_, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	h.Must(err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// lookAtAll is the poller, and what it takes.
func lookAtAll(h *house.House) time.Duration {
	h.Helper()
	begin := time.Now()
	entries, err := os.ReadDir(h.Outbox)
	h.Must(err)
	for _, e := range entries {
		os.Lstat(h.Path(e.Name()))
	}
	return time.Since(begin)
}

// storm renames requests as fast as it can. Another parent is served meanwhile, and this one too.
func storm(t *testing.T, h, other *house.House) {
	begin, before := time.Now(), cpu(h)
	renames, stop := rename(h)
	var others, own time.Duration // the slowest honest request, elsewhere and behind the storm
	for i := range attack.Times(3, 20) {
		others = max(others, honest(other, i))
		own = max(own, honest(h, i))
	}
	stop()
	spent, took := cpu(h)-before, time.Since(begin)
	naive := time.Duration(renames.Load()) * lookAtAll(h)
	attack.Record(t, attack.Trial{
		Row: "O27", Where: "docker", Tried: 1, Held: count(others < patienceOfTheHonest && own < 3*patienceOfTheHonest && spent < took), Oracle: naive > took,
		Note: fmt.Sprintf("%d renames in %s cost %.0f %% of a core; the slowest honest request took %s, and %s in the outbox of the storm",
			renames.Load(), took.Round(time.Second), percent(spent, took), others.Round(time.Millisecond), own.Round(time.Millisecond)),
	})
}

// honest is how long a request takes that is one.
func honest(parent *house.House, i int) time.Duration {
	begin := time.Now()
	parent.Want(parent.Run(house.Ask{ID: fmt.Sprint("honest", i), Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	return time.Since(begin)
}

// rename goes on until it is stopped: nonsense from one request's name to another's, and a sentinel. A third file, as large
// as it may be and never whole, gets a new time with each of these.
func rename(h *house.House) (renames *atomic.Int64, stop func()) {
	h.Must(os.WriteFile(h.Path("request_a0.json"), []byte("nonsense"), 0o644))
	half := h.Path("request_half.json")
	h.Must(os.WriteFile(half, []byte(`{"task":"`+strings.Repeat("x", 4<<20-100)), 0o644))
	h.Touch("cancel_a0")
	renames = new(atomic.Int64)
	var stopped atomic.Bool
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; !stopped.Load(); i++ {
			os.Rename(h.Path(fmt.Sprintf("request_a%d.json", i%8)), h.Path(fmt.Sprintf("request_a%d.json", (i+1)%8)))
			os.Rename(h.Path(fmt.Sprint("cancel_a", i%8)), h.Path(fmt.Sprint("cancel_a", (i+1)%8)))
			os.Chtimes(half, time.Time{}, time.Now())
			renames.Add(2)
		}
	})
	return renames, func() {
		stopped.Store(true)
		work.Wait()
	}
}

// TestAnOverflow makes more events than the kernel keeps while the watcher does not read them, and then asks.
func TestAnOverflow(t *testing.T) {
	house.NeedEngine(t)
	h := house.New(t, house.Plan{})
	var most int
	_, err := fmt.Sscan(h.Read("/proc/sys/fs/inotify/max_queued_events"), &most)
	h.Must(err)
	naive, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	h.Must(err)
	defer unix.Close(naive)
	_, err = unix.InotifyAddWatch(naive, h.Outbox, unix.IN_MOVED_TO) // and not of reading: the watcher may read a request while we read events
	h.Must(err)
	h.Must(syscall.Kill(h.PID(), syscall.SIGSTOP))
	h.Touch("x")
	for range most {
		h.Must(os.Rename(h.Path("x"), h.Path("y")))
		h.Must(os.Rename(h.Path("y"), h.Path("x")))
	}
	ask := h.Submit(house.Ask{ID: "lost", Task: "true"})
	h.Must(syscall.Kill(h.PID(), syscall.SIGCONT))
	resp := h.Response(ask)
	h.Eventually("the overflow is noticed", func() bool { return strings.Contains(h.Said(), "more events than the kernel keeps") })
	attack.Record(t, attack.Trial{Row: "O28", Where: "docker", Tried: 1, Held: count(resp.Reason == delegation.ReasonExited), Oracle: !toldOf(h, naive, "request_lost.json")})
}

// toldOf reads all events that are waiting: a process that has only these events knows the names in them.
func toldOf(h *house.House, events int, name string) (told bool) {
	h.Helper()
	buffer := make([]byte, 1<<16)
	for {
		n, err := unix.Read(events, buffer)
		if err == unix.EAGAIN {
			return told
		}
		h.Must(err)
		told = told || bytes.Contains(buffer[:n], []byte(name))
	}
}
