package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"

	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/socket"
	"torno/internal/version"
)

// SocketName is the name of the socket in the state directory.
const SocketName = "gateway.sock"

// maxRequest bounds the bytes of a request. The largest is a door with all its budgets.
const maxRequest = 1 << 20

// maxSetup is larger than any configuration, because the watcher may send its routes in more lines than the operator
// wrote.
const maxSetup = 8 << 20

// Listen opens the socket. The caller holds the lock on the state directory, so a socket that exists already is dead.
func Listen(stateDir string) (net.Listener, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, err
	}
	return socket.OperatorsOnly(listener), nil
}

// ListenFor opens the socket for another process, which gets the descriptor and calls Taken.
func ListenFor(stateDir string) (*os.File, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, err
	}
	file, err := listener.File()
	return file, errors.Join(err, listener.Close())
}

// Taken returns the socket that another process opened for this one.
func Taken(file *os.File) (net.Listener, error) {
	listener, err := net.FileListener(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return socket.OperatorsOnly(listener), nil
}

// Process is the part of the gateway's process that this API controls.
type Process interface {
	// Digest returns the digest of the text of routes and prices in use, or "" if there is none.
	Digest() string
	// Take replaces the routes and prices. If it fails, nothing has changed. The error is ErrSetup if it does not
	// understand the text, and ErrOwnSetup if the gateway was started with its own file.
	Take(text []byte) error
	// Stop makes the process end as SIGTERM does. It returns at once.
	Stop()
}

// Errors of Process.Take.
var (
	ErrSetup    = errors.New("the routes and prices are not understood")
	ErrOwnSetup = errors.New("this gateway was started with --config, which says its routes; start it without, or change that file and send it SIGHUP")
)

// Digest identifies a text of routes and prices.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Serve serves the API until ctx is done, and then removes the socket.
func Serve(ctx context.Context, listener net.Listener, stateDir string, g *gateway.Gateway, process Process, log *slog.Logger) error {
	return socket.ServeAPI(ctx, listener, stateDir, SocketName, Handler(g, process), log)
}

// Trouble describes why a route does not work.
type Trouble = gateway.Trouble

// Status describes a running gateway.
type Status struct {
	Process int      `json:"process"`
	User    int      `json:"user"` // of the process; an older gateway does not send it, and runs as its watcher's user
	Version string   `json:"version"`
	Routes  []string `json:"routes"`
	Setup   string   `json:"setup"` // the Digest of the text that the gateway was told
	Doors   int      `json:"doors"`

	Troubles []Trouble `json:"troubles,omitempty"` // of routes that do not work
}

// Handler serves the API without a socket.
func Handler(g *gateway.Gateway, process Process) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		failures.Reply(w, status(g, process), nil)
	})
	mux.HandleFunc("PUT /v1/setup", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSetup))
		if err == nil {
			err = process.Take(text)
		} else {
			err = fmt.Errorf("%w: %w", ErrSetup, err)
		}
		failures.Reply(w, status(g, process), err)
	})
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		failures.Reply(w, status(g, process), nil)
		_ = http.NewResponseController(w).Flush() // after Stop the connection breaks, and unsent bytes are lost
		process.Stop()
	})
	mux.HandleFunc("POST /v1/routes/{name}/try", func(w http.ResponseWriter, r *http.Request) {
		tried, err := g.Try(r.Context(), r.PathValue("name"), r.FormValue("model"))
		failures.Reply(w, tried, err)
	})
	mux.HandleFunc("GET /v1/doors", func(w http.ResponseWriter, _ *http.Request) { failures.Reply(w, g.Doors(), nil) })
	mux.HandleFunc("POST /v1/doors", func(w http.ResponseWriter, r *http.Request) {
		var spec gateway.Spec
		if err := read(w, r, &spec); err != nil {
			failures.Reply(w, nil, err)
			return
		}
		door, err := g.Open(spec)
		failures.Reply(w, door, err)
	})
	mux.HandleFunc("GET /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		door, err := g.Door(r.PathValue("id"))
		failures.Reply(w, door, err)
	})
	mux.HandleFunc("PATCH /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		var change gateway.Change
		if err := read(w, r, &change); err != nil {
			failures.Reply(w, nil, err)
			return
		}
		door, err := g.Change(r.PathValue("id"), change)
		failures.Reply(w, door, err)
	})
	mux.HandleFunc("DELETE /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		door, ok := g.Close(r.PathValue("id"))
		if !ok {
			failures.Reply(w, nil, gateway.ErrNoDoor)
			return
		}
		failures.Reply(w, door, nil)
	})
	handleSpending(mux, g)
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) { follow(g, w, r) })
	return mux
}

// handleSpending adds the calls about the ledger.
func handleSpending(mux *http.ServeMux, g *gateway.Gateway) {
	mux.HandleFunc("GET /v1/spent", func(w http.ResponseWriter, r *http.Request) {
		failures.Reply(w, g.Ledger.Use(budget.Scope{Kind: r.FormValue("kind"), ID: r.FormValue("id")}), nil)
	})
	mux.HandleFunc("POST /v1/reset", func(w http.ResponseWriter, r *http.Request) {
		was, err := g.Reset(budget.Scope{Kind: r.FormValue("kind"), ID: r.FormValue("id")})
		failures.Reply(w, was, err)
	})
	mux.HandleFunc("GET /v1/clock", func(w http.ResponseWriter, _ *http.Request) { failures.Reply(w, g.Clock(), nil) })
	mux.HandleFunc("GET /v1/totals", func(w http.ResponseWriter, _ *http.Request) { failures.Reply(w, g.Totals(), nil) })
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, r *http.Request) { failures.Reply(w, g.IdleRuns(r.FormValue("after")), nil) })
	mux.HandleFunc("GET /v1/subagents", func(w http.ResponseWriter, r *http.Request) {
		failures.Reply(w, g.IdleSubagents(r.FormValue("after")), nil)
	})
	mux.HandleFunc("POST /v1/subagents/forget", func(w http.ResponseWriter, r *http.Request) {
		var gone []gateway.Idle
		err := read(w, r, &gone)
		if err == nil {
			err = g.ForgetSubagents(gone)
		}
		failures.Reply(w, struct{}{}, err)
	})
	mux.HandleFunc("POST /v1/forget", func(w http.ResponseWriter, r *http.Request) {
		var over []string
		err := read(w, r, &over)
		if err == nil {
			err = g.Forget(over)
		}
		failures.Reply(w, struct{}{}, err)
	})
}

func status(g *gateway.Gateway, process Process) Status {
	return Status{os.Getpid(), os.Geteuid(), version.String(), g.Routes(), process.Digest(), len(g.Doors()), g.Troubles()}
}

func read(w http.ResponseWriter, r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields() // a misspelled limit would limit nothing
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", gateway.ErrInvalid, err)
	}
	return nil
}

// follow writes events as JSON lines. It flushes after each batch, so nothing is held back.
func follow(g *gateway.Gateway, w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	w.Header().Set("Content-Type", "application/jsonl")
	lines, flusher := json.NewEncoder(w), http.NewResponseController(w)
	for {
		found, more := g.Events(after)
		for _, event := range found {
			if lines.Encode(event) != nil {
				return
			}
			after = event.Number
		}
		if flusher.Flush() != nil || r.FormValue("follow") != "1" {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// failures are the errors that callers tell apart. The codes are API.
var failures = socket.Errors{
	"no_door":      {Err: gateway.ErrNoDoor, Status: http.StatusNotFound},
	"another_door": {Err: gateway.ErrOther, Status: http.StatusConflict},
	"invalid":      {Err: gateway.ErrInvalid, Status: http.StatusBadRequest},
	"no_route":     {Err: gateway.ErrNoRoute, Status: http.StatusBadRequest},
	"ends":         {Err: gateway.ErrDraining, Status: http.StatusServiceUnavailable},
	"setup":        {Err: ErrSetup, Status: http.StatusBadRequest},
	"own_setup":    {Err: ErrOwnSetup, Status: http.StatusConflict},
}
