package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// liar is a registry that answers as it should where no lie is told.
type liar struct {
	*httptest.Server
	truth http.Handler
	lie   atomic.Pointer[lie]
}

// lie answers, or says that it does not.
type lie func(w http.ResponseWriter, r *http.Request) (told bool)

func (l *liar) tell(how lie) { l.lie.Store(&how) }

// at lies to requests whose path ends so.
func at(end string, how http.HandlerFunc) lie {
	return func(w http.ResponseWriter, r *http.Request) bool {
		told := strings.HasSuffix(r.URL.Path, end)
		if told {
			how(w, r)
		}
		return told
	}
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{truth: ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if how := l.lie.Load(); how == nil || !(*how)(w, r) {
			l.truth.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *liar) name(rest string) string { return l.Listener.Addr().String() + "/some/image" + rest }

// push stores an image under a tag, and by its digest.
func (l *liar) push(t *testing.T, image made, tag string) {
	t.Helper()
	for d, raw := range image.blobs {
		l.put(t, http.MethodPost, "/v2/some/image/blobs/uploads/?digest="+d.String(), "", raw)
	}
	for _, name := range []string{tag, image.manifest.String()} {
		l.put(t, http.MethodPut, "/v2/some/image/manifests/"+name, types.OCIManifestSchema1, image.blobs[image.manifest])
	}
}

func (l *liar) put(t *testing.T, method, at string, kind types.MediaType, raw []byte) {
	t.Helper()
	r := httptest.NewRequest(method, at, bytes.NewReader(raw))
	r.Header.Set("Content-Type", string(kind))
	w := httptest.NewRecorder()
	if l.truth.ServeHTTP(w, r); w.Code != http.StatusCreated {
		t.Fatalf("%s %s: %d %s", method, at, w.Code, w.Body)
	}
}

func TestPullByDigest(t *testing.T) {
	l, image := newLiar(t), testLayers(t)
	l.push(t, image, "1")
	var done, total int64
	c := openCache(t, Options{Progress: func(_ string, d, all int64) { done, total = d, all }})
	ref := mustParse(t, l.name(":1@"+image.manifest.String()))
	got := mustGet(t, c, ref)
	if names(t, got.Dir) != "etc etc/y=2" || got.Reference != l.name("@"+image.manifest.String()) {
		t.Errorf("we have %+v with %s", got, names(t, got.Dir))
	}
	if done == 0 || done != total {
		t.Errorf("the progress ends with %d of %d", done, total)
	}
	l.Close()
	if again := mustGet(t, c, ref); again.Dir != got.Dir || again.Reference != got.Reference {
		t.Errorf("without the registry we have %+v", again)
	}
}

func TestPullByTag(t *testing.T) {
	l, image, later := newLiar(t), testLayers(t), makeImage(t, tarOf(t, file("later", "")))
	l.push(t, image, "1")
	c := openCache(t, Options{})
	ref := mustParse(t, l.name(":1"))
	_, err := c.Get(t.Context(), ref)
	wants(t, err, Unpinned)
	if got := mustGet(t, c, ref.Pulling()); got.Reference != l.name("@"+image.manifest.String()) {
		t.Errorf("the tag was %s", got.Reference)
	}
	l.push(t, later, "1")
	if got := mustGet(t, c, ref.Pulling()); got.Digest != later.config.String() {
		t.Errorf("the tag has moved, and we have %s", got.Digest)
	}
}

func TestAnIndex(t *testing.T) {
	l, image := newLiar(t), testLayers(t)
	l.push(t, image, "1")
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{
		{Digest: digestOf(nil), Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}},
		{Digest: image.manifest, Size: int64(len(image.blobs[image.manifest])), Platform: &v1.Platform{OS: "linux", Architecture: archOf(t, image)}},
	}}
	pull := func(c *Cache) (*Image, error) {
		raw := toJSON(t, index)
		l.tell(at("/manifests/"+digestOf(raw).String(), func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) }))
		return c.Get(t.Context(), mustParse(t, l.name("@"+digestOf(raw).String())))
	}
	c := openCache(t, Options{})
	got, err := pull(c)
	if err != nil || got.Digest != image.config.String() {
		t.Fatal(got, err)
	}
	got.Close()
	index.Manifests = index.Manifests[:1]
	_, err = pull(c)
	wants(t, err, NoPlatform)
	if !strings.Contains(err.Error(), "s390x") {
		t.Errorf("%v does not say what there is", err)
	}
	unharmed(t, c, 1)
}

func archOf(t *testing.T, image made) string {
	t.Helper()
	config, err := v1.ParseConfigFile(bytes.NewReader(image.blobs[image.config]))
	if err != nil {
		t.Fatal(err)
	}
	return config.Architecture
}

func TestALyingRegistry(t *testing.T) {
	image := makeImage(t, tarOf(t, file("f", noise(1<<20))))
	manifest, config, layer := "/manifests/"+image.manifest.String(), "/blobs/"+image.config.String(), "/blobs/"+image.layers[0].String()
	other := func(raw []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write(raw) }
	}
	changed := func(d v1.Hash) http.HandlerFunc {
		raw := bytes.Clone(image.blobs[d])
		raw[len(raw)-1] ^= 1
		return other(raw)
	}
	whole := image.blobs[image.layers[0]]
	cases := map[string]struct {
		code Code
		at   string
		lie  http.HandlerFunc
	}{
		"another manifest":             {Mismatch, manifest, changed(image.manifest)},
		"another configuration":        {Mismatch, config, changed(image.config)},
		"another layer":                {Mismatch, layer, changed(image.layers[0])},
		"not even a layer":             {Mismatch, layer, other(make([]byte, len(whole)))},
		"a longer layer":               {Mismatch, layer, other(append(bytes.Clone(whole), 0))},
		"a shorter layer":              {Mismatch, layer, other(whole[:len(whole)-1])},
		"a layer cut by the end":       {Mismatch, layer, cut(whole)},
		"a manifest cut by the end":    {Unreachable, manifest, cut(image.blobs[image.manifest])},
		"an endless layer":             {Mismatch, layer, endless},
		"an endless manifest":          {Mismatch, manifest, endless},
		"an endless configuration":     {Mismatch, config, endless},
		"nothing":                      {NotFound, manifest, http.NotFound},
		"no layer":                     {NotFound, layer, http.NotFound},
		"an error":                     {Unreachable, layer, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		"not for us":                   {Denied, manifest, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }},
		"not for us, at the door":      {Denied, "/v2/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }},
		"an endless error at the door": {Unreachable, "/v2/", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotImplemented); endless(w, r) }},
		"silence":                      {Slow, layer, silent},
		"silence before anything":      {Slow, layer, mute},
		"silence at the door":          {Slow, "/v2/", mute},
		"silence after the beginning":  {Slow, layer, func(w http.ResponseWriter, r *http.Request) { w.Write(whole[:1000]); silent(w, r) }},
		"drops":                        {Slow, layer, drops(whole)},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			l := newLiar(t)
			l.push(t, image, "1")
			l.tell(at(test.at, test.lie))
			o := Options{Dir: filepath.Join(t.TempDir(), "cache")}
			if test.code == Slow { // otherwise a busy machine must not be what is slow
				o.Patience = 300 * time.Millisecond
			}
			c := openCache(t, o)
			ref := mustParse(t, l.name("@"+image.manifest.String()))
			_, err := c.Get(t.Context(), ref)
			wants(t, err, test.code)
			if len(err.Error()) > 600 || !strings.Contains(err.Error(), l.name("")) {
				t.Errorf("the error is %v", err)
			}
			unharmed(t, c, 0)
			l.lie.Store(nil)
			mustGet(t, openCache(t, Options{Dir: o.Dir}), ref)
		})
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	for piece := make([]byte, 64<<10); r.Context().Err() == nil; {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func mute(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// silent says that something comes.
func silent(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// cut promises all, and closes the connection in the midst of it.
func cut(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
		w.Write(raw[:len(raw)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// drops sends a byte now and then, so that no single wait is long.
func drops(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := range raw {
			w.Write(raw[i : i+1])
			http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestSentElsewhere(t *testing.T) {
	var hits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		io.WriteString(w, `{"token":"x"}`)
	}))
	defer elsewhere.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(elsewhere.URL, "http://"), ":")
	byName := "http://localhost:" + port
	redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, byName+"/", http.StatusFound) }
	challenge := func(realm string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	image := testLayers(t)
	cases := map[string]struct {
		at  string
		lie http.HandlerFunc
	}{
		"layer": {"/blobs/" + image.layers[0].String(), redirect}, "manifest": {"/manifests/" + image.manifest.String(), redirect},
		"door": {"/v2/", redirect}, "token": {"/v2/", challenge(byName)}, "token by address": {"/v2/", challenge(elsewhere.URL)},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			l := newLiar(t)
			l.push(t, image, "1")
			l.tell(at(test.at, test.lie))
			c := openCache(t, Options{})
			_, err := c.Get(t.Context(), mustParse(t, l.name("@"+image.manifest.String())))
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != Astray && what != "token by address" {
				t.Errorf("the error is %v", err)
			}
			unharmed(t, c, 0)
			if n := hits.Load(); n != 0 {
				t.Errorf("we went elsewhere, %d times", n)
			}
		})
	}
	trusting, err := http.Get(redirecting(t, redirect))
	if err != nil {
		t.Fatal(err)
	}
	trusting.Body.Close()
	if hits.Load() != 1 {
		t.Error("whoever trusts it does not go there either")
	}
}

func redirecting(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.URL
}

func TestWhereAGateLeads(t *testing.T) {
	for _, c := range []struct {
		registry, url string
		ok            bool
	}{
		{"a.example", "https://a.example/v2/", true},
		{"a.example", "https://cdn.example/x", true},
		{"a.example", "http://a.example/v2/", false},
		{"a.example", "https://169.254.169.254/x", false},
		{"a.example", "https://[::ffff:10.0.0.1]/x", false},
		{"a.example", "https://localhost/x", false},
		{"a.example", "ftp://a.example/", false},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/v2/", true},
		{"10.0.0.1:5000", "http://10.0.0.1:5000/v2/", false},
		{"r.local", "http://r.local/v2/", false},
		{"127.0.0.1:5000", "http://127.0.0.1:5000/v2/", true},
		{"localhost:5000", "http://localhost:5000/v2/", true},
		{"[::1]:5000", "http://[::1]:5000/v2/", true},
		{"127.0.0.1:5000", "http://127.0.0.1:2375/x", false},
		{"127.0.0.1:5000", "https://127.0.0.1:2376/x", false},
	} {
		request, err := http.NewRequest(http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&gate{registry: c.registry}).admit(request); (err == nil) != c.ok {
			t.Errorf("from %s to %s: %v", c.registry, c.url, err)
		}
	}
}

func TestTheOperatorsCredentials(t *testing.T) {
	l, image := newLiar(t), testLayers(t)
	l.push(t, image, "1")
	l.tell(func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "me" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	ref := mustParse(t, l.name("@"+image.manifest.String()))
	c := openCache(t, Options{})
	_, err := c.Get(t.Context(), ref)
	wants(t, err, Denied)
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	auths := map[string]any{"auths": map[string]any{l.Listener.Addr().String(): map[string]string{"username": "me", "password": "secret"}}}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), toJSON(t, auths), 0o600); err != nil {
		t.Fatal(err)
	}
	mustGet(t, c, ref)
}

func TestNobodyThere(t *testing.T) {
	l := newLiar(t)
	l.Close()
	_, err := openCache(t, Options{}).Get(t.Context(), mustParse(t, l.name(":1")).Pulling())
	wants(t, err, Unreachable)
}

func TestGivingUpASilentRegistry(t *testing.T) {
	l := newLiar(t)
	ctx, cancel := context.WithCancel(t.Context())
	l.tell(func(w http.ResponseWriter, r *http.Request) bool {
		cancel()
		silent(w, r)
		return true
	})
	c := openCache(t, Options{Patience: time.Hour})
	if _, err := c.Get(ctx, mustParse(t, l.name(":1")).Pulling()); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	unharmed(t, c, 0)
}
