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

// Reload is one reading of the configuration that somebody asked for.
type Reload struct {
	Number  int      `json:"number"`
	PID     int      `json:"pid"` // of the watcher
	Done    bool     `json:"done"`
	Error   string   `json:"error,omitempty"`   // why nothing of it is taken
	Changes []string `json:"changes,omitempty"` // one for each key that changed
	Waits   string   `json:"waits,omitempty"`   // what it waits for
}

// ErrNoReload says that a watcher has no configuration to read again.
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

// Reload asks for the configuration to be read again.
func (c *Client) Reload(ctx context.Context) (r Reload, err error) {
	return r, c.call(ctx, http.MethodPost, "/v1/reload", &r)
}

// Reloaded asks what came of it.
func (c *Client) Reloaded(ctx context.Context, number int) (r Reload, err error) {
	return r, c.call(ctx, http.MethodGet, "/v1/reload/"+strconv.Itoa(number), &r)
}

// reloadPace is how often AwaitReload asks.
const reloadPace = 20 * time.Millisecond

// mostSilence is how long AwaitReload waits for one answer. The process with the watcher's number may be another one by then, or stand still.
const mostSilence = time.Minute

// AwaitReload asks until a reload is done. The socket is closed for a moment in the middle of it, which is no failure as long as the watcher lives.
// waits is called with what the reload waits for, whenever that changes.
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
			return asked, fmt.Errorf("another watcher (process %d) is here now: the one that was asked (process %d) has ended", now.PID, asked.PID)
		case err == nil && now.Waits != said:
			said = now.Waits
			waits(said)
		case err != nil && !isThere(asked.PID):
			return asked, fmt.Errorf("the watcher (process %d) ended before it had read the configuration again: %w", asked.PID, err)
		case time.Since(heard) > mostSilence:
			return asked, fmt.Errorf("the watcher (process %d) has not answered for %s while it read the configuration again; its log says what it does: %w", asked.PID, mostSilence, err)
		}
		if err := retry.Pause(ctx, reloadPace); err != nil {
			return asked, err
		}
	}
}

// isThere says whether a process is there, whosever it is.
func isThere(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
