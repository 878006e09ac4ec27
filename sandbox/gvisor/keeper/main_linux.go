package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/boot"
	"torno/internal/crash"
	"torno/internal/retry"
	"torno/sandbox/gvisor/keeper/output"
)

// Main runs the whole program: `sandbox-keeper BOX`. If descriptor 3 exists, it is a connection to the first watcher.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "sandbox-keeper: takes one argument, the box; the watcher starts it")
		return 64
	}
	debug.SetGCPercent(gcPercent)
	if err := keep(args[1], inherited()); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-keeper:", err)
		return 1
	}
	return 0
}

// gcPercent keeps a keeper small: there is one for each sandbox, and it has little to do.
const gcPercent = 25

// firstFD is the descriptor of the connection to the watcher that starts a keeper.
const firstFD = 3

func inherited() net.Conn {
	file := os.NewFile(firstFD, "first")
	if file == nil {
		return nil
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil
	}
	return conn
}

// keeper keeps one sandbox. Its main goroutine owns the runtime and reaps. Every pipe and every watcher has a goroutine
// of its own.
type keeper struct {
	box      *os.Root
	order    Order
	log      *output.Log
	listener net.Listener
	pumping  sync.WaitGroup
	serving  sync.WaitGroup
	stop     context.CancelFunc // disconnects all watchers

	running chan struct{} // closed when the runtime has started the sandbox
	given   chan struct{} // closed when init was given its word
	stdin   *os.File      // our end; nil before the sandbox runs
	outputs []*os.File    // our ends of the agent's output; empty before the sandbox runs
	doors   []*door
	ended   chan struct{} // closed when the end is written down
	end     End

	released atomic.Bool // init was given its word, or will never get it

	mu      sync.Mutex
	child   int // pid of the runtime and then of the sentry, while we can wait for it; else 0
	asked   bool
	arrived bool          // a run has come into a sandbox that was made ahead
	allowed time.Duration // the run's time
}

func newKeeper(box *os.Root) *keeper {
	return &keeper{box: box, running: make(chan struct{}), given: make(chan struct{}), ended: make(chan struct{})}
}

// keep takes one box from its order to its end.
func keep(dir string, first net.Conn) error {
	ignoreSignals()
	if err := unix.CloseRange(firstFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors from the runtime: %w", err)
	}
	if err := os.Chdir(dir); err != nil { // so that sockets have short names
		return err
	}
	box, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer box.Close()
	lock, err := lockBox(box)
	if err != nil {
		return err
	}
	defer lock.Close()
	k := newKeeper(box)
	if err := k.prepare(); err != nil {
		return err
	}
	return k.live(first)
}

// ignoreSignals leaves only KILL to end the keeper: a terminal's Ctrl-C and a stopping service are not meant for the
// sandbox. It catches and drops the signals instead of ignoring them, because every started process would inherit
// ignored signals.
func ignoreSignals() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
}

// prepare does everything that can fail before anything is started, and then notes the start.
func (k *keeper) prepare() (err error) {
	if there(k.box, startedName) {
		return errors.New("the sandbox was started before")
	}
	if err := readJSON(k.box, orderName, &k.order); err != nil {
		return err
	}
	k.allowed, k.arrived = k.order.Allowed, !k.order.Ahead
	if k.order.Plan != nil {
		if err := k.order.Plan.Lay(firstFD + 1); err != nil {
			return fmt.Errorf("lay the mounts of the sandbox: %w", err)
		}
	}
	if k.doors, err = openDoors(k.order.Doors); err != nil {
		return err
	}
	if err := reserveEnd(k.box); err != nil {
		return fmt.Errorf("reserve the place of the end: %w", err)
	}
	if k.log, err = output.New(k.box, k.order.Log); err != nil {
		return err
	}
	if err := k.box.Remove(socketName); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a keeper that died here
		return err
	}
	if k.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socketName, Net: "unix"}); err != nil {
		return err
	}
	crash.At("keeper.noted")
	return note(k.box, startedName)
}

// farewell is how long a keeper waits, when all is over, for watchers that still read; they also find the rest in the
// log. groupTime is how long it waits until it can remove its control group.
const (
	farewell  = 5 * time.Second
	groupTime = time.Minute
)

// live runs the sandbox and serves watchers. It returns when the sandbox has ended and the watchers have read
// everything, or their farewell is over.
func (k *keeper) live(first net.Conn) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	k.stop = stop
	if first != nil {
		if attend := k.greet(ctx, first, true); attend != nil { // before any output, so that it misses none
			k.serving.Go(func() {
				attend(ctx)
				k.abandon(ctx)
			})
		}
	}
	k.serving.Go(func() { k.accept(ctx) })
	crash.At("keeper.started")
	k.run(ctx)
	late := time.AfterFunc(farewell, stop) // a stopped watcher reads nothing
	defer late.Stop()
	err := k.tidy()
	k.listener.Close()
	k.serving.Wait()
	return err
}

// run starts the runtime. It returns when nothing of the sandbox runs any more, all output is in the log, and the end
// is written down. Watchers may still be reading then.
func (k *keeper) run(ctx context.Context) {
	end := End{StartedAt: time.Now()}
	var status syscall.WaitStatus
	err := k.start(ctx)
	if err == nil {
		end.Started, end.StartedAt = true, time.Now()
		crash.At("keeper.told")
		close(k.running)
		status, err = k.await()
	}
	end.FinishedAt, end.FinishedIn = time.Now(), boot.Now()
	crash.At("keeper.cleared")
	k.endRest()
	k.judge(&end, status, err)
	end.Dropped, end.Output = k.finishLog()
	k.conclude(end)
}

// judge fills in how the sentry ended.
func (k *keeper) judge(end *End, status syscall.WaitStatus, err error) {
	if k.order.Group != nil {
		end.Use = k.order.Group.Group().Use()
	}
	k.mu.Lock()
	end.Asked = k.asked
	k.mu.Unlock()
	switch {
	case err != nil && end.Asked:
		end.Signal = int(unix.SIGKILL)
	case err != nil:
		end.Trouble = k.trouble(err)
	case status.Signaled():
		end.Signal = int(status.Signal())
	default:
		end.Code, end.Trouble = status.ExitStatus(), k.said()
	}
}

// finishLog moves the rest of the output from the pipes into the log, and ends the log. This happens before the end is
// written down: if the keeper is killed between the two, no output of a run with a known end is lost. finishLog waits
// neither for a watcher that does not read, nor for a process outside of the sandbox that holds a pipe.
func (k *keeper) finishLog() (dropped, all output.Progress) {
	if k.stdin != nil {
		k.stdin.Close() // another goroutine may still write to it
	}
	for _, pipe := range k.outputs {
		_ = pipe.SetReadDeadline(time.Now()) // the only possible error: it is read to its end and closed
	}
	k.log.WaitForNobody()
	k.pumping.Wait()
	return k.log.End()
}

// If the disk is full, a keeper tries for toWriteEnd to write the end down: some file systems need new room to write
// to a reserved place. Until then no watcher hears of the end. If that took long, the run's deadline could pass first, and
// the run would count as timed out.
const toWriteEnd = 20 * time.Second

// conclude writes the end down, and only then tells the watchers. If it cannot be written, the watchers that are there
// hear of it all the same.
func (k *keeper) conclude(end End) {
	crash.At("keeper.ended")
	_ = whenThereIsRoom(func() error { return writeEnd(k.box, end) })
	k.end = end
	crash.At("keeper.concluded")
	close(k.ended)
}

// whenThereIsRoom calls write again while the disk is full.
func whenThereIsRoom(write func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), toWriteEnd)
	defer cancel()
	err := write()
	for try := 1; (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) && retry.Pause(ctx, retry.Backoff(try)) == nil; try++ {
		err = write()
	}
	return err
}

// tidy removes the group, in which nothing runs any more.
func (k *keeper) tidy() error {
	if k.order.Group == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	crash.At("keeper.tidied")
	return k.order.Group.Group().Remove(ctx)
}

// trouble returns the runtime's own message, or else the error's text.
func (k *keeper) trouble(err error) string {
	if said := k.said(); said != "" {
		return said
	}
	return err.Error()
}

// said returns the end of the runtime's own messages.
func (k *keeper) said() string {
	for _, name := range k.order.Trouble {
		if text := tail(name); text != "" {
			return text
		}
	}
	return ""
}
