package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main is the whole program: `sandbox-keeper BOX`. Descriptor 3, if it is there, is the first watcher, attached.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "sandbox-keeper: takes one argument, the box; the watcher starts it")
		return 64
	}
	if err := keep(args[1], inherited()); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-keeper:", err)
		return 1
	}
	return 0
}

// firstFD is where the watcher that starts a keeper is attached.
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

// keeper keeps one sandbox. Its main goroutine owns the runtime and reaps; every pipe and every watcher has one of its own.
type keeper struct {
	box    *os.Root
	order  Order
	record *record
	stdin  *os.File // our end; nil without one

	running chan struct{} // closed when the runtime has started the sandbox
	ended   chan struct{} // closed when the end is written down
	end     End

	mu     sync.Mutex
	sentry int // its pid while it is ours to wait for; else 0
	asked  bool
}

// keep takes one box from its order to its end.
func keep(dir string, first net.Conn) error {
	ignoreSignals()
	if err := os.Chdir(dir); err != nil { // sockets have short names
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
	k := &keeper{box: box, running: make(chan struct{}), ended: make(chan struct{})}
	if err := readJSON(box, OrderName, &k.order); err != nil {
		return err
	}
	if err := note(box, startedName); err != nil {
		return fmt.Errorf("the sandbox was started before: %w", err)
	}
	if k.record, err = newRecord(box, k.order.Log); err != nil {
		return err
	}
	return k.live(first)
}

// ignoreSignals leaves only KILL: a terminal's Ctrl-C or a service that stops is not for the sandbox. They are caught and
// dropped, because what is ignored would be ignored by all that is started, too.
func ignoreSignals() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)
}

// lockBox keeps other keepers out, and tells the watcher that this one lives.
func lockBox(box *os.Root) (*os.File, error) {
	file, err := box.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("the box has a keeper: %w", err)
	}
	return file, nil
}

// live runs the sandbox and serves watchers until it has ended and everybody has had everything.
func (k *keeper) live(first net.Conn) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketName, Net: "unix"})
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	if first != nil {
		serving.Go(func() { k.serve(ctx, first) })
	}
	serving.Go(func() { k.accept(ctx, listener, &serving) })

	k.run(ctx)
	err = k.tidy()
	listener.Close()
	late := time.AfterFunc(farewell, stop) // a watcher that is stopped reads nothing
	defer late.Stop()
	serving.Wait()
	stop()
	return err
}

// farewell is how long a watcher may take to read the rest when all is over. It finds it in the log afterwards, too.
const farewell = time.Minute

// run starts the runtime, and returns when nothing of the agent runs any more and all output is in the log. The end is
// told before that: the output may wait for somebody who reads.
func (k *keeper) run(ctx context.Context) {
	defer k.record.end()
	end := End{StartedAt: time.Now()}
	pumped, err := k.start(ctx)
	if err != nil {
		end.Trouble, end.FinishedAt = k.trouble(err), time.Now()
		k.conclude(end)
		return
	}
	close(k.running)
	end.StartedAt = time.Now()
	status := k.awaitSentry()
	end.FinishedAt = time.Now()
	k.judge(&end, status)
	k.conclude(end)
	pumped.Wait()
}

// conclude writes the end down before anybody is told.
func (k *keeper) conclude(end End) {
	if err := writeJSON(k.box, endName, end); err != nil {
		end.Trouble = "its end could not be written down: " + err.Error()
	}
	k.end = end
	close(k.ended)
}

// judge reads how the sentry ended.
func (k *keeper) judge(end *End, status syscall.WaitStatus) {
	if k.order.Group != nil {
		end.Use = k.order.Group.Group().Use()
	}
	k.mu.Lock()
	end.Asked = k.asked
	k.mu.Unlock()
	if status.Signaled() {
		end.Signal = int(status.Signal())
		return
	}
	end.Code = status.ExitStatus()
	end.Trouble = k.said()
}

// tidy removes the group, when everything in it is dead.
func (k *keeper) tidy() error {
	reapAll()
	if k.order.Group == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return k.order.Group.Group().Remove(ctx)
}

// trouble is an error with what the runtime says itself.
func (k *keeper) trouble(err error) string {
	if said := k.said(); said != "" {
		return said
	}
	return err.Error()
}

// maxSaid bounds what of the runtime's own words is told on.
const maxSaid = 2 << 10

// said is the end of the runtime's own words.
func (k *keeper) said() string {
	for _, name := range k.order.Trouble {
		data, err := os.ReadFile(filepath.Clean(name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			continue
		}
		if err != nil {
			return err.Error()
		}
		return string(data[max(len(data)-maxSaid, 0):])
	}
	return ""
}
