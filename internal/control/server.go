package control

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"torno/internal/socket"
)

// SocketName is the socket's name in the state directory.
const SocketName = "control.sock"

// Listen opens the socket of a state directory. The caller must hold the state's lock, so that an existing socket
// belongs to no living watcher.
func Listen(stateDir string) (net.Listener, error) {
	listener, err := socket.Listen(stateDir, SocketName, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return socket.OperatorsOnly(listener), nil
}

// Serve answers until ctx is done, and then removes the socket. Requests for paths outside /v1/ go to others, unless it
// is nil.
func Serve(ctx context.Context, listener net.Listener, stateDir string, service Service, others http.Handler, log *slog.Logger) error {
	all := http.NewServeMux()
	all.Handle("/v1/", Handler(service))
	if others != nil {
		all.Handle("/", others)
	}
	return socket.ServeAPI(ctx, listener, stateDir, SocketName, all, log)
}

// Handler returns the handler of all paths below /v1/. It needs no socket.
func Handler(service Service) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := service.Status(r.Context())
		failures.Reply(w, status, err)
	})
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		runs, err := service.Runs(r.Context(), Query{All: r.FormValue("all") == "1", Outbox: r.FormValue("outbox"), Limit: limit})
		if runs == nil {
			runs = []Run{}
		}
		failures.Reply(w, runs, err)
	})
	mux.HandleFunc("GET /v1/runs/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Run(r.Context(), r.PathValue("ref"))
		failures.Reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/cancel/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Cancel(r.Context(), r.PathValue("ref"))
		failures.Reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/abandon/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		run, err := service.Abandon(r.Context(), r.PathValue("ref"))
		failures.Reply(w, run, err)
	})
	mux.HandleFunc("POST /v1/accept/{outbox}", func(w http.ResponseWriter, r *http.Request) {
		accepted, err := service.Accept(r.Context(), r.PathValue("outbox"), Identity(r.FormValue("as")))
		failures.Reply(w, accepted, err)
	})
	handleReloads(mux, service)
	handleCollect(mux, service)
	handleBudgets(mux, service)
	handleApprovals(mux, service)
	handleEvents(mux, service)
	mux.HandleFunc("GET /v1/output/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		stream(w, func(emit func(any) error) error {
			return service.Output(r.Context(), r.PathValue("ref"), r.FormValue("follow") == "1", func(o Output) error { return emit(o) })
		})
	})
	return mux
}

// stream writes each value that say emits as a line of JSON, and flushes it at once.
func stream(w http.ResponseWriter, say func(emit func(any) error) error) {
	lines := json.NewEncoder(w)
	flusher := http.NewResponseController(w)
	begun := false
	err := say(func(line any) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/jsonl")
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
		return flusher.Flush()
	})
	switch {
	case err != nil && begun:
		panic(http.ErrAbortHandler) // a stream that broke off must not look complete
	case err != nil:
		failures.Reply(w, nil, err)
	}
}

// failures maps codes to the errors that callers tell apart. The codes are API.
var failures = socket.Errors{
	"no_run":       {Err: ErrNoRun, Status: http.StatusNotFound},
	"ambiguous":    {Err: ErrAmbiguous, Status: http.StatusConflict},
	"ended":        {Err: ErrEnded, Status: http.StatusConflict},
	"stranded":     {Err: ErrStranded, Status: http.StatusConflict},
	"not_stranded": {Err: ErrNotStranded, Status: http.StatusConflict},
	"no_approval":  {Err: ErrNoQuestion, Status: http.StatusNotFound},
	"undecided":    {Err: ErrUndecided, Status: http.StatusConflict},
	"untaken":      {Err: ErrUntaken, Status: http.StatusConflict},
	"no_outbox":    {Err: ErrNoOutbox, Status: http.StatusNotFound},
	"no_budget":    {Err: ErrNoBudget, Status: http.StatusNotFound},
	"no_routes":    {Err: ErrNoRoutes, Status: http.StatusNotFound},
	"not_asked":    {Err: ErrAsked, Status: http.StatusConflict},
	"no_events":    {Err: ErrNoEvents, Status: http.StatusNotFound},
	"bad_since":    {Err: ErrSince, Status: http.StatusBadRequest},
	"readers":      {Err: ErrReaders, Status: http.StatusServiceUnavailable},
	"no_reload":    {Err: ErrNoReload, Status: http.StatusConflict},
}
