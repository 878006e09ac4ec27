package gateway

import (
	"sync"
	"time"

	"torno/internal/gateway/budget"
)

// Event is one exchange that has ended, or a request that was refused. It never holds text of the conversation.
type Event struct {
	Number  int64         `json:"number"` // from 1 on, without gaps
	At      time.Time     `json:"at"`
	Door    string        `json:"door"`
	Route   string        `json:"route,omitempty"`
	API     string        `json:"api,omitempty"`
	Model   string        `json:"model,omitempty"`
	Method  string        `json:"method,omitempty"`
	Status  int           `json:"status"`         // what the child got; 0 where it was not there any more
	Code    string        `json:"code,omitempty"` // why it was refused, or how it ended before its end; "" for a whole answer
	Usage   Tokens        `json:"usage"`
	Counted bool          `json:"counted"`           // the answer said its usage; otherwise Cost is what was reserved
	Cost    budget.Amount `json:"cost"`              // what the budgets were charged
	Price   string        `json:"price,omitempty"`   // how a price was found for a model that has none
	Dropped []string      `json:"dropped,omitempty"` // what the route took out of the request
	Last    bool          `json:"last,omitempty"`    // only what is kept for the final answer paid for it, so it went without tools
	Cached  bool          `json:"cached,omitempty"`  // a registry's file that was kept: nothing was asked of the upstream
	First   int64         `json:"first_ms"`          // from the request's end to the answer's first byte
	Took    int64         `json:"took_ms"`
}

// Tokens are the tokens of an answer. No token is counted in two fields, except in CacheWriteHour.
type Tokens struct {
	Input          int64 `json:"input"`
	Output         int64 `json:"output"`
	CacheRead      int64 `json:"cache_read,omitempty"`
	CacheWrite     int64 `json:"cache_write,omitempty"`
	CacheWriteHour int64 `json:"cache_write_hour,omitempty"` // the part of CacheWrite that is kept for an hour
}

// kept is how many events are there for late readers.
const kept = 4096

// events are the newest ones, in order.
type events struct {
	mu   sync.Mutex
	all  []Event // a ring once it is full; event n lies at (n-1) % kept
	last int64
	more chan struct{} // closed, and made anew, with each event
}

func newEvents() *events { return &events{more: make(chan struct{})} }

func (e *events) add(event Event) Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	event.Number = e.last
	if len(e.all) < kept {
		e.all = append(e.all, event)
	} else {
		e.all[(e.last-1)%kept] = event
	}
	close(e.more)
	e.more = make(chan struct{})
	return event
}

// after are the events that follow a number, as far as they are kept, and what is closed when there are more.
func (e *events) after(number int64) ([]Event, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []Event
	for n := max(number+1, e.last-int64(len(e.all))+1, 1); n <= e.last; n++ {
		found = append(found, e.all[(n-1)%kept])
	}
	return found, e.more
}

// Events are the newest exchanges after a number, and a channel that is closed when there are more. A gap in the numbers
// says that some are not kept any more.
func (g *Gateway) Events(after int64) ([]Event, <-chan struct{}) { return g.events.after(after) }
