package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"

	"torno/internal/calendar"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/cache"
	"torno/internal/gateway/credential"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
)

// Upstream is a route with everything that the gateway needs to send its requests.
type Upstream struct {
	Route      *route.Route
	Transport  http.RoundTripper
	Credential credential.Source
}

// Config holds the parts of a gateway.
type Config struct {
	Dir     string // holds the doors, one directory each; only we may enter it
	Shown   string // Dir as others call it; "" if they use the same name
	Records string // holds the records of doors; only some doors have one
	Caches  string // holds the kept files of registries; "" keeps none
	Ledger  *budget.Ledger
	// Calendar tells the ledger which day it is; nil if the ledger goes by the clock.
	Calendar *calendar.Calendar
	Scrub    func(text string) string // removes all secrets from a text
	Log      *slog.Logger
}

// Bounds over all doors.
const (
	maxDoors  = 4096
	maxBodies = 256 << 20 // bytes of requests in memory at once
)

// Gateway holds the doors. All its methods may be called concurrently.
type Gateway struct {
	Config
	events   *events
	bodies   memory
	caches   caches
	totals   totals
	troubles troubles

	mostAnswer int64 // bytes of a model's answer; tests set a lower bound, because each byte is read

	mu        sync.Mutex
	routes    map[string]*Upstream
	prices    prices.Table
	doors     map[string]*door
	draining  bool
	subagents []string                 // names that IdleSubagents is listing
	likely    map[string]budget.Amount // by route: the bound of its most recent request
}

// New makes a gateway without doors and routes.
func New(c Config) *Gateway {
	return &Gateway{
		Config: c, events: newEvents(), caches: caches{dir: c.Caches, told: map[string]cache.Digest{}},
		mostAnswer: maxAnswer, totals: totals{byRoute: map[string]*Total{}}, troubles: troubles{byRoute: map[string]ailments{}}, bodies: memory{most: maxBodies}, doors: map[string]*door{}, likely: map[string]budget.Amount{},
	}
}

// Use replaces the routes and prices. Exchanges under way end as they began. A door whose route is gone refuses
// requests.
func (g *Gateway) Use(routes []*Upstream, table prices.Table) {
	g.caches.use(routes, func(what string, err error) {
		g.Log.Warn("files of registries are not kept as they should be", "what", what, "error", err)
	})
	byName := map[string]*Upstream{}
	for _, u := range routes {
		byName[u.Route.Name] = u
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes, g.prices = byName, table
}

func (g *Gateway) route(name string) (*Upstream, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.routes[name]
	return u, ok
}

// Routes returns the names of all routes, sorted.
func (g *Gateway) Routes() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := []string{}
	for name := range g.routes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Open opens a door. If the same door is open already, it returns that door, because a watcher that does not remember
// whether it asked will ask again.
func (g *Gateway) Open(spec Spec) (Door, error) {
	if err := spec.check(); err != nil {
		return Door{}, err
	}
	for _, w := range spec.Routes {
		if _, ok := g.route(w.Route); !ok {
			return Door{}, fmt.Errorf("%w: %q", ErrNoRoute, w.Route)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if d, ok := g.doors[spec.ID]; ok {
		if d.ctx.Err() != nil || !d.sameAs(spec) {
			return Door{}, fmt.Errorf("%w: %s", ErrOther, spec.ID)
		}
		if err := d.listen(); err != nil { // an earlier gateway opened it, and it waits
			return Door{}, err
		}
		return d.show(), nil
	}
	if g.draining {
		return Door{}, ErrDraining
	}
	if len(g.doors) >= maxDoors {
		return Door{}, fmt.Errorf("%w: there are %d already", ErrInvalid, maxDoors)
	}
	if err := g.save(spec); err != nil {
		return Door{}, err
	}
	d := g.newDoor(spec, untilOf(spec))
	if err := d.listen(); err != nil {
		d.cancel()
		g.forget(spec.ID)
		return Door{}, err
	}
	g.doors[d.id] = d
	go d.expire()
	d.expect()
	return d.show(), nil
}

// Change describes how to change an open door. A nil field changes nothing.
type Change struct {
	Peer *Peer `json:"peer,omitempty"`
}

// Change changes a door.
func (g *Gateway) Change(id string, c Change) (Door, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.doors[id]
	if !ok {
		return Door{}, fmt.Errorf("%w: %s", ErrNoDoor, id)
	}
	spec := d.spec()
	if c.Peer != nil {
		spec.Peer = *c.Peer
	}
	if err := spec.check(); err != nil {
		return Door{}, err
	}
	if err := g.save(spec); err != nil {
		return Door{}, err
	}
	d.change(spec)
	return d.show(), nil
}

// Close closes a door and cuts off its exchanges under way. After it returns, the gateway sends nothing more for that
// door. It returns false if the door does not exist.
func (g *Gateway) Close(id string) (Door, bool) {
	g.mu.Lock()
	d, ok := g.doors[id]
	if !ok && idForm.MatchString(id) {
		g.forget(id) // Restore could not read its file
	}
	g.mu.Unlock()
	if !ok {
		return Door{}, false
	}
	g.end(d)
	return d.show(), true
}

// end closes a door and removes its files from the disk.
func (g *Gateway) end(d *door) {
	d.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doors[d.id] == d {
		delete(g.doors, d.id)
		g.forget(d.id)
	}
}

// Doors returns the open doors, sorted by id.
func (g *Gateway) Doors() []Door {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []Door{}
	for _, d := range g.doors {
		all = append(all, d.show())
	}
	slices.SortFunc(all, func(a, b Door) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Door returns an open door.
func (g *Gateway) Door(id string) (Door, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, ok := g.doors[id]
	if !ok {
		return Door{}, fmt.Errorf("%w: %s", ErrNoDoor, id)
	}
	return d.show(), nil
}

// Shut takes no more requests. It waits for the requests under way until ctx is done, and then cuts them off. The doors
// stay written down, so the next gateway opens them again.
func (g *Gateway) Shut(ctx context.Context) {
	g.mu.Lock()
	g.draining = true
	doors := make([]*door, 0, len(g.doors))
	for _, d := range g.doors {
		doors = append(doors, d)
	}
	g.mu.Unlock()
	for _, d := range doors {
		d.drain()
	}
	for _, d := range doors {
		d.wait(ctx)
		d.close()
		g.keep(d)
	}
}

// directory makes the directory of a door. The child may pass through it, but cannot write there.
func (g *Gateway) directory(id string) (string, error) {
	dir := g.socketDir(id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the door's directory: %w", err)
	}
	return dir, os.Chmod(dir, 0o755)
}
