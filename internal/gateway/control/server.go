package control

import (
	"cmp"
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
	"path/filepath"
	"strconv"
	"time"

	"torno/internal/gateway"
	"torno/internal/socket"
	"torno/internal/version"
)

// SocketName is the socket's name in the state directory.
const SocketName = "gateway.sock"

// maxRequest is the most that a request may hold: a door with all its budgets.
const maxRequest = 1 << 20

// maxSetup is more than the largest configuration, whose routes may be spread over more lines here.
const maxSetup = 8 << 20

// Listen opens the socket. The caller holds the state's lock, so a socket that is there is a dead one.
func Listen(stateDir string) (net.Listener, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, err
	}
	return socket.OperatorsOnly(listener), nil
}

// Setup is what a gateway was told of routes and prices.
type Setup interface {
	// Digest is that of the text which counts now; "" for none.
	Digest() string
	// Take puts routes and prices into the place of those that were there. Where it fails nothing has changed: the error is
	// ErrSetup for a text that is not understood, and ErrOwnSetup where the gateway has a file of its own.
	Take(text []byte) error
}

// The errors of Setup.Take.
var (
	ErrSetup    = errors.New("the routes and prices are not understood")
	ErrOwnSetup = errors.New("this gateway was started with --config, which says its routes; start it without, or change that file and send it SIGHUP")
)

// Digest stands for a text of routes and prices.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Serve answers until ctx is done, and removes the socket.
func Serve(ctx context.Context, listener net.Listener, stateDir string, g *gateway.Gateway, setup Setup, log *slog.Logger) error {
	server := &http.Server{
		Handler: Handler(g, setup), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
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
	Version string   `json:"version"`
	Routes  []string `json:"routes"`
	Setup   string   `json:"setup"` // the Digest of what it was told
	Doors   int      `json:"doors"`
}

// Handler answers without a socket.
func Handler(g *gateway.Gateway, setup Setup) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, status(g, setup), nil)
	})
	mux.HandleFunc("PUT /v1/setup", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSetup))
		if err == nil {
			err = setup.Take(text)
		} else {
			err = fmt.Errorf("%w: %w", ErrSetup, err)
		}
		reply(w, status(g, setup), err)
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

func status(g *gateway.Gateway, setup Setup) Status {
	return Status{os.Getpid(), version.String(), g.Routes(), setup.Digest(), len(g.Doors())}
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
	"setup": ErrSetup, "own_setup": ErrOwnSetup,
}

var statuses = map[string]int{
	"no_door": http.StatusNotFound, "another_door": http.StatusConflict, "invalid": http.StatusBadRequest, "no_route": http.StatusBadRequest,
	"ends": http.StatusServiceUnavailable, "setup": http.StatusBadRequest, "own_setup": http.StatusConflict,
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
