package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"torno/internal/retry"
)

// Reload is one new reading of the configuration, at somebody's request.
type Reload struct {
	Number  int      `json:"number"`
	PID     int      `json:"pid"` // of the watcher
	Done    bool     `json:"done"`
	Error   string   `json:"error,omitempty"`   // why the watcher takes nothing of the new configuration
	Changes []string `json:"changes,omitempty"` // one for each key that changed
	Waits   string   `json:"waits,omitempty"`   // why the reload is not done yet
}

// ErrNoReload means that a watcher has no configuration file to read again.
var ErrNoReload = errors.New("this watcher was started without a configuration file: there is nothing to read again")

func handleReloads(mux *http.ServeMux, service Service) {
	mux.HandleFunc("POST /v1/reload", func(w http.ResponseWriter, r *http.Request) {
		asked, err := service.Reload(r.Context())
		failures.Reply(w, asked, err)
	})
	mux.HandleFunc("GET /v1/reload/{number}", func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.PathValue("number"))
		result, err := service.Reloaded(r.Context(), number)
		failures.Reply(w, result, err)
	})
}

// Reload asks the watcher to read the configuration again.
func (c *Client) Reload(ctx context.Context) (r Reload, err error) {
	return r, c.call(ctx, http.MethodPost, "/v1/reload", &r)
}

// Reloaded asks for the result of a reload.
func (c *Client) Reloaded(ctx context.Context, number int) (r Reload, err error) {
	return r, c.call(ctx, http.MethodGet, "/v1/reload/"+strconv.Itoa(number), &r)
}

// reloadPace is the pause between two questions of AwaitReload.
const reloadPace = 20 * time.Millisecond

// mostSilence is how long AwaitReload goes on without an answer. It is bounded because the watcher's process may hang,
// or another process may have its number by then.
const mostSilence = time.Minute

// AwaitReload asks again and again until a reload is done. The watcher closes the socket for a moment during a reload,
// which is no failure as long as the watcher lives. AwaitReload calls waits with the reason why the reload is not done
// yet, whenever the reason changes.
func (c *Client) AwaitReload(ctx context.Context, asked Reload, waits func(string)) (Reload, error) {
	return c.awaitReload(ctx, asked, waits, mostSilence)
}

func (c *Client) awaitReload(ctx context.Context, asked Reload, waits func(string), mostSilence time.Duration) (Reload, error) {
	said, heard := "", time.Now()
	for {
		bounded, cancel := context.WithDeadline(ctx, heard.Add(mostSilence))
		now, err := c.Reloaded(bounded, asked.Number)
		cancel()
		if err == nil {
			heard = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return asked, ctx.Err()
		case err == nil && now.Done:
			return now, nil
		case err == nil && now.PID != asked.PID:
			return asked, fmt.Errorf("another watcher (process %d) is running now: the watcher that you asked (process %d) has ended", now.PID, asked.PID)
		case err == nil && now.Waits != said:
			said = now.Waits
			waits(said)
		case err != nil && !isThere(asked.PID):
			return asked, fmt.Errorf("the watcher (process %d) ended before it read the configuration again: %w", asked.PID, err)
		case time.Since(heard) > mostSilence:
			return asked, fmt.Errorf("the watcher (process %d) has not answered for %s while reading the configuration again; read its log: %w", asked.PID, mostSilence, err)
		}
		if err := retry.Pause(ctx, reloadPace); err != nil {
			return asked, err
		}
	}
}

// isThere reports whether a process with this id exists, of whatever user.
func isThere(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
