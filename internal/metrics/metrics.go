package metrics

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
)

// Journal reports the ends of runs, and gives their records.
type Journal interface {
	OnEnd(func(key string))
	Get(ctx context.Context, key string) (journal.Run, error)
	Outboxes(context.Context) ([]journal.Outbox, error)
}

// Source holds everything that the numbers come from.
type Source struct {
	Journal  Journal
	Status   func(context.Context) (control.Status, error)
	Profiles []string // the names in the configuration; other names become no label
	Outboxes []string
	// Routes asks the model gateway for the traffic of its routes; nil if there is no gateway.
	Routes     func(context.Context) ([]Route, error)
	RouteNames []string        // the names of the routes in the configuration
	Ready      <-chan struct{} // closed when the watcher takes requests
	Log        *slog.Logger
}

// Metrics holds the numbers of one watcher.
type Metrics struct {
	source Source

	mu      sync.Mutex
	fresh   []string      // keys of ended runs that are not counted yet
	wake    chan struct{} // holds at most one hint that fresh has keys
	ended   *family
	refused *family
	tokens  *family
	phases  *family
	took    map[string]*histogram // by phase
}

// other stands for every name that is not in the configuration.
const other = "other"

// New returns Metrics. From now on the journal tells it of every end.
func New(s Source) *Metrics {
	m := &Metrics{
		source: s, wake: make(chan struct{}, 1), took: map[string]*histogram{},
		ended:   newFamily("counter", "runs_ended_total", "Runs that have ended, by the reason of their end.", "outbox", "profile", "reason"),
		refused: newFamily("counter", "requests_refused_total", "Requests that were refused, by the code of the refusal.", "code", "outbox"),
		tokens:  newFamily("counter", "model_tokens_total", "Tokens of ended runs that went through the model gateway.", "direction", "profile"),
		phases:  newFamily("histogram", "run_phase_seconds", "How long each phase of a run has taken.", "phase"),
	}
	for _, phase := range phases {
		m.took[phase] = &histogram{}
	}
	s.Journal.OnEnd(m.note)
	return m
}

// phases names the phases of a run, as its timings do.
var phases = []string{"admit", "queue", "create", "start", "run", "total"}

// note keeps the key of a run for Loop. It is called while the run ends, so it must be quick.
func (m *Metrics) note(key string) {
	m.mu.Lock()
	m.fresh = append(m.fresh, key)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Loop counts the ends of runs until ctx is done.
func (m *Metrics) Loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
			m.catchUp(ctx)
		}
	}
}

// catchUp counts the ends that note has kept.
func (m *Metrics) catchUp(ctx context.Context) {
	m.mu.Lock()
	fresh := m.fresh
	m.fresh = nil
	m.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	outboxes, err := m.source.Journal.Outboxes(ctx)
	if err != nil {
		m.source.Log.Debug("ends of runs are counted without the names of their outboxes", "error", err)
	}
	for _, key := range fresh {
		run, err := m.source.Journal.Get(ctx, key)
		if err != nil {
			m.source.Log.Debug("the end of a run is not counted", "run", key, "error", err)
			continue
		}
		i := slices.IndexFunc(outboxes, func(o journal.Outbox) bool { return o.ID == run.Outbox })
		name := run.Outbox
		if i >= 0 {
			name = outboxes[i].Name
		}
		m.count(run, among(m.source.Outboxes, name))
	}
}

// among returns a name if it is known, and otherwise "other".
func among(known []string, name string) string {
	if slices.Contains(known, name) {
		return name
	}
	return other
}

func (m *Metrics) count(run journal.Run, outbox string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	profile := among(m.source.Profiles, run.Profile)
	m.ended.add(1, outbox, profile, string(run.Reason))
	if run.Reason == delegation.ReasonRefused {
		m.refused.add(1, string(run.Code), outbox)
	}
	if t := run.Timings; t != nil && !run.Started.IsZero() {
		for i, ms := range []float64{t.Admit, t.Queue, t.Create, t.Start, t.Run, t.Total} {
			m.took[phases[i]].observe(ms / 1000)
		}
	}
	if run.Usage != nil && run.Usage.Model != nil {
		m.tokens.add(float64(max(run.Usage.Model.InputTokens, 0)), "in", profile)
		m.tokens.add(float64(max(run.Usage.Model.OutputTokens, 0)), "out", profile)
	}
}

// Handler serves GET /metrics and GET /healthz.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.show)
	mux.HandleFunc("GET /healthz", m.health)
	return mux
}

// show writes all numbers.
func (m *Metrics) show(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	m.writeStanding(r.Context(), &text)
	m.writeRoutes(r.Context(), &text)
	m.mu.Lock()
	for _, f := range []*family{m.ended, m.refused, m.tokens} {
		f.write(&text)
	}
	m.phases.head(&text)
	for _, phase := range phases {
		m.took[phase].write(&text, m.phases.name, "phase", phase)
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, text.String()) // if the collector has gone, there is nothing to do
}
