package gateway

import (
	"sync"
	"time"

	"torno/internal/gateway/budget"
)

// Event reports one exchange that has ended, or one refused request. It never holds text of the conversation.
type Event struct {
	Number  int64         `json:"number"` // counts from 1, without gaps
	At      time.Time     `json:"at"`
	Door    string        `json:"door"`
	Route   string        `json:"route,omitempty"`
	API     string        `json:"api,omitempty"`
	Model   string        `json:"model,omitempty"`
	Method  string        `json:"method,omitempty"`
	Status  int           `json:"status"`         // the status sent to the child; 0 if it was gone before that
	Code    string        `json:"code,omitempty"` // why it was refused or broke off; "" for a complete answer
	Usage   Tokens        `json:"usage"`
	Counted bool          `json:"counted"`           // the answer told its usage; if false, Cost is the reservation
	Cost    budget.Amount `json:"cost"`              // the charge to the budgets
	Price   string        `json:"price,omitempty"`   // how the gateway found a price if the model has none
	Dropped []string      `json:"dropped,omitempty"` // parts of the request that the route removed
	Last    bool          `json:"last,omitempty"`    // the share for the final answer paid, so it went without tools
	Cached  bool          `json:"cached,omitempty"`  // served from a kept file of a registry: the upstream was not asked
	First   int64         `json:"first_ms"`          // from the end of the request to the first byte of the answer
	Took    int64         `json:"took_ms"`
}

// Tokens counts the tokens of an answer. Each token is in one field only, except that CacheWriteHour is a part of
// CacheWrite.
type Tokens struct {
	Input          int64 `json:"input"`
	Output         int64 `json:"output"`
	CacheRead      int64 `json:"cache_read,omitempty"`
	CacheWrite     int64 `json:"cache_write,omitempty"`
	CacheWriteHour int64 `json:"cache_write_hour,omitempty"` // the tokens of CacheWrite that are kept for an hour
}

// kept is the number of events that stay available for late readers.
const kept = 4096

// events holds the newest events, in order.
type events struct {
	mu   sync.Mutex
	all  []Event // once full it is a ring; event n is at (n-1) % kept
	last int64
	more chan struct{} // closed and replaced at each new event
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

// after returns the kept events with a higher number, and a channel that is closed when the next event comes.
func (e *events) after(number int64) ([]Event, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []Event
	for n := max(number+1, e.last-int64(len(e.all))+1, 1); n <= e.last; n++ {
		found = append(found, e.all[(n-1)%kept])
	}
	return found, e.more
}

// Events returns the newest exchanges with a number above after, and a channel that is closed when the next one comes.
// A gap in the numbers means that some were dropped.
func (g *Gateway) Events(after int64) ([]Event, <-chan struct{}) { return g.events.after(after) }
