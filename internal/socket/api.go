package socket

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
	"time"
)

// Errors holds the errors that an API's callers tell apart, by their code on the wire.
type Errors map[string]KnownError

// KnownError is an error of Errors, with the HTTP status of its reply.
type KnownError struct {
	Err    error
	Status int
}

// failure is the body of every reply that is not 200.
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // a key of Errors
}

// answersEnd is how long requests under way may take to end after ctx is done. Nothing ends a call that hangs in the
// kernel.
const answersEnd = 2 * time.Second

// ServeAPI answers requests until ctx is done, then removes the socket. After it has returned, no request is answered
// any more, so the caller may close the things that requests use.
func ServeAPI(ctx context.Context, listener net.Listener, dir, name string, api http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler: api, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), answersEnd)
		defer cancel()
		if server.Shutdown(soon) != nil {
			server.Close()
		}
	})
	err := server.Serve(listener)
	if !stop() {
		<-ended
	}
	os.Remove(filepath.Join(dir, name))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the control socket: %w", err)
}

// Reply sends body, or err if there is one.
func (known Errors) Reply(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		code := known.codeOf(err)
		w.WriteHeader(cmp.Or(known[code].Status, http.StatusInternalServerError))
		body = failure{err.Error(), code}
	}
	// If this fails, the client is gone, and nothing is left to do.
	_ = json.NewEncoder(w).Encode(body)
}

func (known Errors) codeOf(err error) (code string) {
	for c, k := range known {
		if errors.Is(err, k.Err) {
			code = c
		}
	}
	return code
}
