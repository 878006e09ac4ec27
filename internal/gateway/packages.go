package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"torno/internal/gateway/cache"
	"torno/internal/gateway/registry"
	"torno/internal/gateway/route"
	"torno/internal/gateway/wire"
)

// toTurn bounds how long an exchange waits while another exchange fetches the same file. After that it fetches the file
// itself, and does not keep it.
const toTurn = 20 * time.Second

// caches holds the kept files of registries. Each route has its own directory, named after its upstream and its
// credential's source. So a route with another credential never gets a file that this one fetched.
type caches struct {
	dir string

	mu   sync.Mutex
	open map[string]*cache.Cache // by name of the directory
	told map[string]cache.Digest // by address of a file: its digest, according to the registry's page
}

// mostTold bounds how many digests are remembered. A file whose digest was forgotten can be fetched, but is not newly
// kept.
const mostTold = 20_000

// maxAddress bounds the address of a file whose digest is remembered.
const maxAddress = 2 << 10

// use opens the caches of these routes, and removes all others.
func (c *caches) use(routes []*Upstream, said func(text string, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := map[string]*cache.Cache{}
	for _, u := range routes {
		if u.Route.Cache == 0 || c.dir == "" {
			continue
		}
		name := spaceOf(u.Route)
		kept := c.open[name]
		if kept == nil {
			var err error
			if kept, err = cache.Open(filepath.Join(c.dir, name), u.Route.Cache); err != nil {
				said("files of the registry "+u.Route.Name+" are not kept", err)
				continue
			}
		}
		now[name] = kept
	}
	c.open = now
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return // there is no cache directory
	}
	for _, e := range entries {
		if now[e.Name()] == nil {
			if err := os.RemoveAll(filepath.Join(c.dir, e.Name())); err != nil {
				said("files of a registry without a route cannot be removed", err)
			}
		}
	}
}

// spaceOf returns the name of a route's directory.
func spaceOf(r *route.Route) string {
	raw, err := json.Marshal([]any{r.Name, r.Upstream.String(), r.Credential, r.Set, r.Roots, r.Pins, r.Cache})
	if err != nil {
		panic(err) // every value in it can be written as JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

func (c *caches) of(r *route.Route) *cache.Cache {
	if r.Cache == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[spaceOf(r)]
}

func (c *caches) tell(address string, d cache.Digest) {
	if len(address) > maxAddress {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.told[address]; !known && len(c.told) >= mostTold {
		for old := range c.told { // an arbitrary one
			delete(c.told, old)
			break
		}
	}
	c.told[address] = d
}

func (c *caches) digest(address string) (cache.Digest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.told[address]
	return d, ok
}

// fetch is the part of an exchange that fills the cache: its draft, and its turn to fetch.
type fetch struct {
	cache *cache.Cache
	key   cache.Key
	draft *cache.Draft
	over  func() // ends this exchange's turn, so that another may fetch the file
}

// kept answers with a kept file, if there is one. If it returns false for done, the request has to leave. Then x.fetch
// says whether its answer may be kept: only if the registry told the file's digest, or the file never changes. A file
// that an earlier gateway kept is found without the registry's digest, because the file's own head has one.
func (x *exchange) kept(ctx context.Context) (done, again bool) {
	from := x.door.g.caches.of(x.up.Route)
	if from == nil || x.route.Method != http.MethodGet || x.route.Header.Get("Range") != "" {
		return false, false
	}
	key := cache.Key{Address: x.route.URL.String()}
	digest, told := x.door.g.caches.digest(key.Address)
	key.Digest = digest
	if held := from.Find(ctx, x.door.ctx, key); held != nil {
		defer held.Close()
		return true, x.give(held)
	}
	if !told && !registry.Lasts(x.up.Route.Preset, x.route.URL.Path) {
		return false, false
	}
	waiting, cancel := context.WithTimeout(ctx, toTurn)
	defer cancel()
	for range 2 {
		over, mine := from.Turn(waiting, key)
		if held := from.Find(ctx, x.door.ctx, key); held != nil { // another exchange fetched it meanwhile
			over()
			defer held.Close()
			return true, x.give(held)
		}
		if mine {
			x.fetch = fetch{cache: from, key: key, over: over}
			return false, false
		}
	}
	return false, false
}

// give sends a kept file. It costs one request, as if the file had been fetched.
func (x *exchange) give(held *cache.Held) (again bool) {
	x.event.Cached, x.event.Counted, x.event.Status = true, true, http.StatusOK
	x.settle(noModel, x.reserve.Settle(noModel))
	header := http.Header{"X-Torno-Cache": {"kept"}}
	if held.Type != "" {
		header.Set("Content-Type", held.Type)
	}
	head := wire.Answer{Status: http.StatusOK, Header: header, Length: held.Size, Close: x.closes}
	err := head.WriteHead(x.c)
	if err == nil {
		var n int64
		if n, err = io.Copy(onlyWriter{x.c}, io.LimitReader(held, held.Size)); err == nil && n != held.Size {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		x.event.Code = x.gone()
		return false
	}
	return true
}

// onlyWriter hides every method but Write, so that io.Copy uses Write, which gives each part its own time.
type onlyWriter struct{ io.Writer }

// keeps starts to keep an answer, if the answer is a whole file.
func (x *exchange) keeps(r *http.Response) {
	if x.fetch.cache == nil || r.StatusCode != http.StatusOK || r.Header.Get("Content-Encoding") != "" {
		return
	}
	draft, err := x.fetch.cache.Begin(x.fetch.key, r.Header.Get("Content-Type"))
	if err != nil {
		x.door.sayOnce("cache", "a file of a registry is not kept", err)
		return
	}
	x.fetch.draft = draft
}

// endFetch keeps a complete file, or drops an incomplete one, and ends this exchange's turn.
func (x *exchange) endFetch(whole bool) {
	if draft := x.fetch.draft; draft != nil && !whole {
		draft.Drop()
	} else if draft != nil {
		if err := draft.Keep(); err != nil {
			x.door.sayOnce("cache", "a file of a registry is not kept", err)
		}
	}
	if x.fetch.over != nil {
		x.fetch.over()
	}
	x.fetch = fetch{}
}

// page is a page of a registry. It names files by their addresses, and those are rewritten so that they lead back
// through the door.
type page struct {
	index *registry.Index
	out   *rewriter
}

// pageOf returns the page that an answer holds, or nil if it holds none. The rewritten page is written to to.
func (x *exchange) pageOf(r *http.Response, to io.Writer) *page {
	own := x.up.Route
	if own.API != route.Plain || x.route.Method != http.MethodGet || r.StatusCode != http.StatusOK || r.Header.Get("Content-Encoding") != "" {
		return nil
	}
	base, files := strings.TrimSuffix(own.Upstream.String(), "/")+"/", own.Files+"/"
	index := registry.NewIndex(own.Preset, r.Header.Get("Content-Type"), x.route.URL, func(address string, d cache.Digest) {
		if strings.HasPrefix(address, base) || own.Files != "" && strings.HasPrefix(address, files) {
			x.door.g.caches.tell(address, d)
		}
	})
	if index == nil {
		return nil
	}
	p := &page{index: index, out: &rewriter{to: to}}
	p.out.replace(base, "http://"+x.host+x.way.Prefix+own.Prefix+"/")
	for _, w := range x.spec.Routes {
		if u, ok := x.door.g.route(w.Route); ok && own.Files != "" && strings.TrimSuffix(u.Route.Upstream.String(), "/") == own.Files {
			p.out.replace(files, "http://"+x.host+w.Prefix+u.Route.Prefix+"/")
		}
	}
	return p
}

// Write takes the next part of the page.
func (p *page) Write(part []byte) (int, error) {
	if _, err := p.index.Write(part); err != nil {
		return 0, err
	}
	return p.out.Write(part)
}

// end waits until all digests of the page are known, and only then sends its last bytes, because the client may ask for
// a file at once.
func (p *page) end() error {
	p.index.Close()
	return p.out.flush()
}

// drop stops reading a page that was not passed on.
func (p *page) drop() {
	if p != nil {
		p.index.Close()
	}
}
