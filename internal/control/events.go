package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"torno/delegation"
)

// EventQuery chooses events of a run.
type EventQuery struct {
	Since  int64 // the last event that the reader has; 0 for none
	Follow bool  // go on until the run has ended
}

// EventLine is a line of a stream of events: an event or, in the last line, the end of the stream. A stream without
// that last line broke off.
type EventLine struct {
	Event *delegation.Event `json:"event,omitempty"`
	End   *EventsEnd        `json:"end,omitempty"`
}

// EventsEnd marks where a stream of events ends.
type EventsEnd struct {
	Newest int64 `json:"newest"` // the number of the newest event; later events have higher numbers
	Over   bool  `json:"over"`   // the run has ended, so no event comes later
}

// Errors about events.
var (
	// ErrNoEvents: the watcher keeps no events of the run, because it was too long ago or nothing ever happened in it.
	ErrNoEvents = errors.New("no events of this run are kept")
	ErrSince    = errors.New("since must be the number of an event, from 0")
	ErrReaders  = errors.New("too many readers follow events already")
)

func handleEvents(mux *http.ServeMux, service Service) {
	mux.HandleFunc("GET /v1/events/{ref...}", func(w http.ResponseWriter, r *http.Request) {
		q := EventQuery{Follow: r.FormValue("follow") == "1"}
		if since := r.FormValue("since"); since != "" {
			n, err := strconv.ParseInt(since, 10, 64)
			if err != nil || n < 0 {
				failures.Reply(w, nil, ErrSince)
				return
			}
			q.Since = n
		}
		stream(w, func(emit func(any) error) error {
			return service.Events(r.Context(), r.PathValue("ref"), q, func(l EventLine) error { return emit(l) })
		})
	})
}

// Events hands the events of a run to emit, and at last their end.
func (c *Client) Events(ctx context.Context, ref string, q EventQuery, emit func(EventLine) error) error {
	form := url.Values{"since": {strconv.FormatInt(q.Since, 10)}}
	if q.Follow {
		form.Set("follow", "1")
	}
	lines, err := c.watcher.Stream(ctx, "/v1/events/"+escape(ref)+"?"+form.Encode())
	if err != nil {
		return err
	}
	defer lines.Close()
	for {
		var l EventLine
		switch err := lines.Next(&l); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the events broke off: the watcher stopped, or cannot read them any more")
		case err != nil:
			return fmt.Errorf("read the events: %w", err)
		}
		if err := emit(l); err != nil || l.End != nil {
			return err
		}
	}
}
