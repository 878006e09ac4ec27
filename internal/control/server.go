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

	"torno/internal/socket"
)

// SocketName is the socket's name in the state directory.
const SocketName = "control.sock"

// Listen opens the door of a state directory. The caller holds the state's lock, so a socket that is there is a dead one.
func Listen(stateDir string) (net.Listener, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return socket.OperatorsOnly(listener), nil
}

// Serve answers until ctx is done, and removes the socket.
func Serve(ctx context.Context, listener net.Listener, stateDir string, service Service, log *slog.Logger) error {
	server := &http.Server{
		Handler: Handler(service), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
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

// Handler is the door without its socket.
func Handler(service Service) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := service.Status(r.Context())
		reply(w, status, err)
	})
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		runs, err := service.Runs(r.Context(), Query{All: r.FormValue("all") == "1", Outbox: r.FormValue("outbox"), Limit: limit})
		if runs == nil {
			runs = []Run{}
		}
		reply(w, runs, err)
	})
	mux.HandleFunc("GET /v1/runs/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Run(r.Context(), r.PathValue("ref"))
		reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/cancel/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Cancel(r.Context(), r.PathValue("ref"))
		reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/abandon/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Abandon(r.Context(), r.PathValue("ref"))
		reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/accept/{outbox}", func(w http.ResponseWriter, r *http.Request) {
		accepted, err := service.Accept(r.Context(), r.PathValue("outbox"), Identity(r.FormValue("as")))
		reply(w, accepted, err)
	})
	mux.HandleFunc("GET /v1/output/{ref...}", func(w http.ResponseWriter, r *http.Request) { output(service, w, r) })
	return mux
}

// output streams JSON lines, each flushed at once.
func output(service Service, w http.ResponseWriter, r *http.Request) {
	lines := json.NewEncoder(w)
	flusher := http.NewResponseController(w)
	begun := false
	err := service.Output(r.Context(), r.PathValue("ref"), r.FormValue("follow") == "1", func(o Output) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/jsonl")
		}
		if err := lines.Encode(o); err != nil {
			return err
		}
		return flusher.Flush()
	})
	switch {
	case err != nil && begun:
		panic(http.ErrAbortHandler) // an output that broke off must not look complete
	case err != nil:
		reply(w, nil, err)
	}
}

// Failure is the body of every answer that is not 200.
type Failure struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // one of failures
}

// failures are the errors that callers tell apart. The codes are API.
var failures = map[string]error{
	"no_run": ErrNoRun, "ambiguous": ErrAmbiguous, "ended": ErrEnded, "stranded": ErrStranded, "not_stranded": ErrNotStranded, "untaken": ErrUntaken,
	"no_outbox": ErrNoOutbox, "not_asked": ErrAsked,
}

var statuses = map[string]int{
	"no_run": http.StatusNotFound, "ambiguous": http.StatusConflict, "ended": http.StatusConflict,
	"stranded": http.StatusConflict, "not_stranded": http.StatusConflict, "untaken": http.StatusConflict,
	"no_outbox": http.StatusNotFound, "not_asked": http.StatusConflict,
}

func reply(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		failure := failureOf(err)
		w.WriteHeader(cmp.Or(statuses[failure.Code], http.StatusInternalServerError))
		body = failure
	}
	// The reader may be gone, and nothing else could be told.
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
