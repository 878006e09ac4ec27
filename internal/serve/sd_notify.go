package serve

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"torno/internal/retry"
)

// notifier tells a service manager how far we are, as sd_notify(3) does.
type notifier struct {
	socket string
	dog    time.Duration // how long the manager waits for a sign of life; 0 if it does not wait
}

// notifierOf returns a notifier that is silent unless the service manager has named a socket. The name of an abstract
// socket begins with "@", for Go as for systemd.
func notifierOf(env func(string) string) notifier {
	n := notifier{socket: env("NOTIFY_SOCKET")}
	pid := env("WATCHDOG_PID")
	micros, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64)
	if err == nil && micros > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.dog = time.Duration(micros) * time.Microsecond
	}
	return n
}

// send does its best: a manager that does not listen is no reason not to serve.
func (n notifier) send(state string) {
	if n.socket == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "unixgram", n.socket)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}

// ready says that requests are taken. It makes the manager wait for signs of life.
func (n notifier) ready() {
	n.send("READY=1" + n.dogs(n.dog))
}

// dogs returns the line that makes the manager wait this long for signs of life.
func (n notifier) dogs(wait time.Duration) string {
	if n.dog == 0 {
		return ""
	}
	return fmt.Sprintf("\nWATCHDOG_USEC=%d", wait.Microseconds())
}

// reloading says that another host takes this one's place. That host may have to wait for an engine that hangs, and the
// manager must not kill it for that. So no sign of life is due until ready.
func (n notifier) reloading() {
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", time.Since(boot).Microseconds()) + n.dogs(0))
}

// signsOfLife is how many signs of life are sent while the manager waits for one.
const signsOfLife = 3

// showProgress sends a sign of life after each turn that the watcher took, until ctx is done. If a turn does not come
// back, it sends none.
func (n notifier) showProgress(ctx context.Context, turn func(context.Context) error) {
	if n.dog == 0 {
		return
	}
	for turn(ctx) == nil {
		n.send("WATCHDOG=1")
		if retry.Pause(ctx, n.dog/signsOfLife) != nil {
			return
		}
	}
}
