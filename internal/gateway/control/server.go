package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"torno/internal/gateway"
	"torno/internal/socket"
)

// SocketName is the socket's name in the state directory.
const SocketName = "gateway.sock"

// maxRequest is the most that a request may hold: a door with all its budgets.
const maxRequest = 1 << 20

// Listen opens the socket. The caller holds the state's lock, so a socket that is there is a dead one.
func Listen(stateDir string) (net.Listener, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, err
	}
	return socket.OperatorsOnly(listener), nil
}

// Serve answers until ctx is done, and removes the socket.
func Serve(ctx context.Context, listener net.Listener, stateDir string, g *gateway.Gateway, log *slog.Logger) error {
	server := &http.Server{
		Handler: Handler(g), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(listener)
	os.Remove(filepath.Join(stateDir, SocketName))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the control socket: %w", err)
}

// Status is what a gateway says of itself.
type Status struct {
	Process int      `json:"process"`
	Routes  []string `json:"routes"`
	Doors   int      `json:"doors"`
}

// Handler answers without a socket.
func Handler(g *gateway.Gateway) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, Status{os.Getpid(), g.Routes(), len(g.Doors())}, nil)
	})
	mux.HandleFunc("GET /v1/doors", func(w http.ResponseWriter, _ *http.Request) { reply(w, g.Doors(), nil) })
	mux.HandleFunc("POST /v1/doors", func(w http.ResponseWriter, r *http.Request) {
		var spec gateway.Spec
		if err := read(w, r, &spec); err != nil {
			reply(w, nil, err)
			return
		}
		door, err := g.Open(spec)
		reply(w, door, err)
	})
	mux.HandleFunc("GET /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		door, err := g.Door(r.PathValue("id"))
		reply(w, door, err)
	})
	mux.HandleFunc("PATCH /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		var change gateway.Change
		if err := read(w, r, &change); err != nil {
			reply(w, nil, err)
			return
		}
		door, err := g.Change(r.PathValue("id"), change)
		reply(w, door, err)
	})
	mux.HandleFunc("DELETE /v1/doors/{id}", func(w http.ResponseWriter, r *http.Request) {
		door, ok := g.Close(r.PathValue("id"))
		if !ok {
			reply(w, nil, gateway.ErrNoDoor)
			return
		}
		reply(w, door, nil)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) { follow(g, w, r) })
	return mux
}

func read(w http.ResponseWriter, r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields() // a limit that is misspelled is none
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", gateway.ErrInvalid, err)
	}
	return nil
}

// follow writes events as JSON lines, each flushed at once.
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

// Failure is the body of every answer that is not 200.
type Failure struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // one of failures
}

// failures are the errors that callers tell apart. The codes are API.
var failures = map[string]error{
	"no_door": gateway.ErrNoDoor, "another_door": gateway.ErrOther, "invalid": gateway.ErrInvalid, "no_route": gateway.ErrNoRoute, "ends": gateway.ErrDraining,
}

var statuses = map[string]int{
	"no_door": http.StatusNotFound, "another_door": http.StatusConflict, "invalid": http.StatusBadRequest, "no_route": http.StatusBadRequest,
	"ends": http.StatusServiceUnavailable,
}

func reply(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		failure := failureOf(err)
		w.WriteHeader(cmp.Or(statuses[failure.Code], http.StatusInternalServerError))
		body = failure
	}
	// The reader may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(body)
}

func failureOf(err error) Failure {
	f := Failure{Error: err.Error()}
	for code, known := range failures {
		if errors.Is(err, known) {
			f.Code = code
		}
	}
	return f
}
