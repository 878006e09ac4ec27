package gateway

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"torno/internal/gateway/cache"
	"torno/internal/gateway/dial"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
	"torno/internal/retry"
	"torno/test/registry"
	"torno/test/wait"
)

// shop is a gateway with routes to registries.
type shop struct {
	*rig
	reg *registry.Registry
}

func newShop(t *testing.T) *shop {
	t.Helper()
	reg := registry.New()
	server, files := httptest.NewServer(reg), httptest.NewServer(reg)
	t.Cleanup(server.Close)
	t.Cleanup(files.Close)
	reg.Base, reg.Files = server.URL, files.URL
	s := &shop{bare(t, server.URL), reg}
	s.begin()
	return s
}

// begin has the next gateway of the same directories.
func (s *shop) begin() {
	s.g = New(Config{Dir: s.dir, Caches: filepath.Join(s.dir, "packages"), Ledger: s.ledger, Scrub: s.g.Scrub, Log: s.g.Log})
	s.use(map[string]any{})
}

// use gives the gateway its routes, with more said of each.
func (s *shop) use(more map[string]any) {
	s.Helper()
	var all []*Upstream
	for name, preset := range map[string]string{"npm": "npm", "pypi": "pypi", "files": "pypi-files", "go": "goproxy"} {
		base := s.reg.Base
		said := map[string]any{"preset": preset, "private": true, "http_to": "127.0.0.1"}
		if name == "files" {
			base = s.reg.Files
		}
		if name == "pypi" {
			said["files"] = s.reg.Files
		}
		said["upstream"] = base
		for key, value := range more {
			said[key] = value
		}
		all = append(all, s.to(name, said))
	}
	s.g.Use(all, prices.Table{})
}

func (s *shop) to(name string, said map[string]any) *Upstream {
	s.Helper()
	r, err := route.Parse(name, said)
	if err != nil {
		s.Fatal(err)
	}
	transport, err := dial.Rule{Host: r.Upstream.Host, Plain: true, Private: true, Silence: r.Silence}.Transport()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(transport.CloseIdleConnections)
	return &Upstream{Route: r, Transport: transport, Credential: s.key}
}

// door is a client of a new door.
func (s *shop) door(id string) *http.Client {
	d := spec(id)
	d.Routes = []Way{{Prefix: "/npm", Route: "npm"}, {Prefix: "/pypi", Route: "pypi"}, {Prefix: "/files", Route: "files"}, {Prefix: "/go", Route: "go"}}
	return s.open(d)
}

func get(c *http.Client, path string) (text []byte, from string, err error) {
	r, err := c.Get("http://127.0.0.1:4180" + path)
	if err != nil {
		return nil, "", err
	}
	defer r.Body.Close()
	text, err = io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", r.StatusCode, text)
	}
	return text, r.Header.Get("X-Torno-Cache"), err
}

// wants is a file, and whether it comes from the cache.
func (s *shop) wants(c *http.Client, path, file string, kept bool) {
	s.Helper()
	text, from, err := get(c, path+file)
	if err != nil || !bytes.Equal(text, s.reg.File(file)) || (from == "kept") != kept {
		s.Errorf("%s: %d bytes, from the cache: %q, %v", file, len(text), from, err)
	}
}

// TestAPageNamesTheDoor: an address in a page of a registry leads through the door that the child has, also where it was another host's.
func TestAPageNamesTheDoor(t *testing.T) {
	s := newShop(t)
	c := s.door("run")
	for path, want := range map[string]string{
		"/npm/torno-left":          `"tarball":"http://127.0.0.1:4180/npm` + registry.NPMFile,
		"/pypi/simple/torno-left/": `href="http://127.0.0.1:4180/files` + registry.WheelFile + "#sha256=",
	} {
		text, _, err := get(c, path)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", path, text, err)
		}
	}
}

// TestAFileIsFetchedOnce, whichever child asks, and also behind a restart. Where no digest is known of one that could change, it is fetched.
func TestAFileIsFetchedOnce(t *testing.T) {
	s := newShop(t)
	c := s.door("one")
	s.wants(c, "/npm", registry.NPMFile, false) // no page has said its digest
	s.wants(c, "/npm", registry.NPMFile, false)
	pages := func(c *http.Client) {
		t.Helper()
		for _, page := range []string{"/npm/torno-left", "/pypi/simple/torno-left/"} {
			if _, _, err := get(c, page); err != nil {
				t.Fatal(err)
			}
		}
	}
	pages(c)
	files := map[string]string{registry.NPMFile: "/npm", registry.WheelFile: "/files", registry.ModuleZip: "/go"}
	before := map[string]int{}
	for file, at := range files {
		s.wants(c, at, file, false)
		before[file] = s.reg.Asked(file)
	}
	other := s.door("two")
	for file, at := range files {
		s.wants(other, at, file, true)
	}
	s.begin()
	third := s.door("three") // the child has a lockfile: it asks for no page, so the new gateway hears no digest
	for file, at := range files {
		s.wants(third, at, file, true)
		if got := s.reg.Asked(file); got != before[file] {
			t.Errorf("%s was fetched %d times, and %d before", file, got, before[file])
		}
	}
	if _, _, err := get(third, "/go/"+registry.Module+"/@v/list"); err != nil {
		t.Fatal(err)
	}
	if _, from, err := get(third, "/go/"+registry.Module+"/@v/list"); err != nil || from != "" {
		t.Errorf("a list that changes is kept: %q, %v", from, err)
	}
	// A request is settled behind its answer.
	d, _ := s.g.Door("three")
	wait.Until(t, "five requests are settled", func() bool {
		d, _ = s.g.Door("three")
		return d.Spent.Requests >= 5
	})
	if d.Requests != 5 || d.Spent.Requests != 5 {
		t.Errorf("%d requests count, and %d are spent", d.Requests, d.Spent.Requests)
	}
}

// TestManyWantOneFile: one request leaves for all of them, and each has the whole file.
func TestManyWantOneFile(t *testing.T) {
	s := newShop(t)
	s.reg.Step = make(chan struct{})
	const children = 8
	var around sync.WaitGroup
	for i := range children {
		c := s.door(fmt.Sprint("run", i))
		around.Go(func() {
			if text, _, err := get(c, "/go"+registry.ModuleZip); err != nil || !bytes.Equal(text, s.reg.File(registry.ModuleZip)) {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
	for s.reg.Asked(registry.ModuleZip) == 0 {
		if retry.Pause(t.Context(), retry.Later) != nil {
			t.Fatal("none is asked for")
		}
	}
	close(s.reg.Step)
	around.Wait()
	if got := s.reg.Asked(registry.ModuleZip); got != 1 {
		t.Errorf("it was fetched %d times", got)
	}
}

// TestWhatHasAnotherDigestIsNotKept, nor what broke off. A file that is damaged on the disk is fetched again.
func TestWhatHasAnotherDigestIsNotKept(t *testing.T) {
	s := newShop(t)
	c := s.door("run")
	if _, _, err := get(c, "/npm/torno-left"); err != nil {
		t.Fatal(err)
	}
	s.reg.Lie(registry.NPMFile, []byte("something else"))
	if text, _, err := get(c, "/npm"+registry.NPMFile); err != nil || string(text) != "something else" {
		t.Errorf("the client, which looks itself, gets %q, %v", text, err)
	}
	s.reg.Lie(registry.NPMFile, nil)
	s.wants(c, "/npm", registry.NPMFile, false)
	s.wants(c, "/npm", registry.NPMFile, true)
	damaged := 0
	if err := filepath.WalkDir(filepath.Join(s.dir, "packages"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			text[len(text)-1] ^= 1
			damaged++
			err = os.WriteFile(path, text, 0o600)
		}
		return err
	}); err != nil || damaged != 1 {
		t.Fatal(damaged, err)
	}
	s.wants(c, "/npm", registry.NPMFile, false)
	s.wants(c, "/npm", registry.NPMFile, true)
}

// TestOtherCredentialsOtherFiles: what one route's credential has fetched is given to no route with another one, and is removed with it.
func TestOtherCredentialsOtherFiles(t *testing.T) {
	s := newShop(t)
	c := s.door("run")
	s.wants(c, "/go", registry.ModuleZip, false)
	s.wants(c, "/go", registry.ModuleZip, true)
	s.use(map[string]any{"credential": map[string]any{"file": "/nowhere/key"}})
	s.wants(c, "/go", registry.ModuleZip, false)
	s.use(map[string]any{"cache": 0})
	s.wants(c, "/go", registry.ModuleZip, false)
	s.wants(c, "/go", registry.ModuleZip, false)
	if left, err := os.ReadDir(filepath.Join(s.dir, "packages")); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestWhatDoesNotFitPasses: a cache that is too small, or a disk that takes nothing, keeps no child from its file.
func TestWhatDoesNotFitPasses(t *testing.T) {
	s := newShop(t)
	s.use(map[string]any{"cache": 100})
	c := s.door("run")
	for range 2 {
		s.wants(c, "/go", registry.ModuleZip, false)
	}
	s.use(map[string]any{"cache": "1MiB"})
	at := s.g.caches.of(s.routeOf("go"))
	if at == nil {
		t.Fatal("there is no cache")
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "packages")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.wants(c, "/go", registry.ModuleZip, false)
	}
	if at.Find(t.Context(), t.Context(), cache.Key{Address: "x"}) != nil {
		t.Error("it finds what was never there")
	}
}

// TestAPartIsNotKept, and a request for one is no other's whole file.
func TestAPartIsNotKept(t *testing.T) {
	s := newShop(t)
	c := s.door("run")
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:4180/go"+registry.ModuleZip, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=0-3")
	if res, err := c.Do(r); err != nil {
		t.Fatal(err)
	} else {
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	s.wants(c, "/go", registry.ModuleZip, false)
	s.wants(c, "/go", registry.ModuleZip, true)
}

func (s *shop) routeOf(name string) *route.Route {
	u, ok := s.g.route(name)
	if !ok {
		s.Fatal("no route " + name)
	}
	return u.Route
}

// TestRewriter: wherever the text is cut.
func TestRewriter(t *testing.T) {
	const text = "a https://files.example/x https://files.example https://files.example/y https://index.example/z http"
	const want = "a http://127.0.0.1/f/x https://files.example http://127.0.0.1/f/y http://127.0.0.1/i/z http"
	for cut := range len(text) {
		var out bytes.Buffer
		r := &rewriter{to: &out}
		r.replace("https://files.example/", "http://127.0.0.1/f/")
		r.replace("https://index.example/", "http://127.0.0.1/i/")
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := r.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.flush(); err != nil || out.String() != want {
			t.Errorf("cut at %d: %q, %v", cut, &out, err)
		}
	}
}

// TestAPageSpeaksOfItsOwnRegistry: a page that says digests of other hosts' files, so that those are never kept, or are held to a digest that
// they do not have, is not believed. Of a page with ever more files, a bounded number is remembered, and the page passes whole.
func TestAPageSpeaksOfItsOwnRegistry(t *testing.T) {
	s := newShop(t)
	const files = mostTold + 5000
	foreign := s.reg.Files + registry.WheelFile
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		digest := strings.Repeat("ab", 20)
		fmt.Fprintf(w, `{"versions":{"0":{"dist":{"tarball":%q,"shasum":%q}}`, foreign, digest)
		for i := range files {
			fmt.Fprintf(w, `,"%d.0.0":{"dist":{"tarball":"http://%s/a-%d.tgz","shasum":%q}}`, i+1, r.Host, i, digest)
		}
		io.WriteString(w, "}}")
	}))
	t.Cleanup(server.Close)
	s.g.Use([]*Upstream{s.to("npm", map[string]any{"preset": "npm", "private": true, "http_to": "127.0.0.1", "upstream": server.URL})}, prices.Table{})
	d, err := s.g.Open(Spec{ID: "run", Lasts: Duration(time.Hour), Peer: Peer{Anyone: true}, Routes: []Way{{Route: "npm"}}, Claims: spec("run").Claims})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := get(client(t, d.Socket), "/many")
	if err != nil || bytes.Count(text, []byte("shasum")) != files+1 {
		t.Errorf("the page has %d bytes: %v", len(text), err)
	}
	if _, told := s.g.caches.digest(foreign); told {
		t.Error("a page's word about another host's file is believed")
	}
	if _, told := s.g.caches.digest(fmt.Sprintf("%s/a-%d.tgz", server.URL, files-1)); !told {
		t.Error("a page's word about its own file is not remembered")
	}
	if n := len(s.g.caches.told); n > mostTold {
		t.Errorf("%d files are remembered", n)
	}
}

// TestAPageIsNoFile: a page that another page names as a file, with its digest, is not kept: it would never change again,
// and its addresses would lead past the door.
func TestAPageIsNoFile(t *testing.T) {
	s := newShop(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		page := fmt.Sprintf(`{"home":"%s/x"}`, base)
		if r.URL.Path == "/names-it" {
			page = fmt.Sprintf(`{"versions":{"1.0.0":{"dist":{"tarball":"%s/page","shasum":"%x"}}}}`, base, sha1.Sum([]byte(page)))
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	s.g.Use([]*Upstream{s.to("npm", map[string]any{"preset": "npm", "private": true, "http_to": "127.0.0.1", "upstream": server.URL})}, prices.Table{})
	said := spec("run")
	said.Routes = []Way{{Prefix: "/npm", Route: "npm"}}
	c := s.open(said)
	if _, _, err := get(c, "/npm/names-it"); err != nil {
		t.Fatal(err)
	}
	if _, told := s.g.caches.digest(server.URL + "/page"); !told {
		t.Fatal("nothing is shown: the page's digest is not told")
	}
	for range 2 {
		text, from, err := get(c, "/npm/page")
		if err != nil || from != "" || string(text) != `{"home":"http://127.0.0.1:4180/npm/x"}` {
			t.Errorf("%s, from the cache: %q, %v", text, from, err)
		}
	}
}

// TestWithoutACacheEachChildFetches: with "cache: 0" no child can tell by an answer whether another one has fetched the file.
func TestWithoutACacheEachChildFetches(t *testing.T) {
	s := newShop(t)
	s.use(map[string]any{"cache": 0})
	for i, id := range []string{"one", "two"} {
		s.wants(s.door(id), "/go", registry.ModuleZip, false)
		if asked := s.reg.Asked(registry.ModuleZip); asked != i+1 {
			t.Errorf("the registry was asked %d times", asked)
		}
	}
}

// TestTwoTurnsHaveOneDeadline: a child that reads slowly holds another one up for toTurn, and not at each of its turns.
// The other one then fetches the file itself, and does not keep it.
func TestTwoTurnsHaveOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{rig: bare(t, "http://127.0.0.1:1")}
		u := s.to("go", map[string]any{"preset": "goproxy", "private": true, "http_to": "127.0.0.1", "upstream": s.url})
		g := New(Config{Dir: s.dir, Caches: filepath.Join(s.dir, "packages"), Ledger: s.ledger, Scrub: s.g.Scrub, Log: s.g.Log})
		g.Use([]*Upstream{u}, nil)
		at := u.Route.Upstream.JoinPath("/example.com/m/@v/v1.0.0.zip")
		over, mine := g.caches.of(u.Route).Turn(t.Context(), cache.Key{Address: at.String()})
		if !mine {
			t.Fatal("the slow child has not got the turn")
		}
		asks := func() *exchange {
			return &exchange{
				door: &door{g: g, ctx: t.Context()}, up: u,
				route: route.Exchange{Method: http.MethodGet, URL: at, Header: http.Header{}},
			}
		}
		x, began := asks(), time.Now()
		if done, _ := x.kept(t.Context()); done || x.fetch.over != nil || time.Since(began) != toTurn {
			t.Errorf("done %v, the turn is its own %v, after %s", done, x.fetch.over != nil, time.Since(began))
		}
		over()
		x, began = asks(), time.Now()
		if done, _ := x.kept(t.Context()); done || x.fetch.over == nil || time.Since(began) != 0 {
			t.Errorf("a free turn: done %v, its own %v, after %s", done, x.fetch.over != nil, time.Since(began))
		}
		x.endFetch(false)
		again, mine := g.caches.of(u.Route).Turn(t.Context(), cache.Key{Address: at.String()})
		if !mine {
			t.Error("the turn is not given back")
		}
		again()
	})
}
