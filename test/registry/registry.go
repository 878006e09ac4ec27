// Package registry is a stand-in for npm's registry, for PyPI and for a Go module proxy, with one package each, which are made here. It counts
// what it is asked for, and lies where it is told to.
package registry

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// The packages, and where their files lie.
const (
	NPMFile   = "/torno-left/-/torno-left-1.0.0.tgz"
	WheelFile = "/packages/ab/cd/torno_left-1.0-py3-none-any.whl"
	Module    = "example.com/left"
	ModuleZip = "/" + Module + "/@v/v1.0.0.zip"
)

// Registry answers. It is an http.Handler; the fields are set before it does.
type Registry struct {
	Base  string // its own address
	Files string // the address of PyPI's files
	Step  chan struct{}

	mu    sync.Mutex
	files map[string][]byte
	asked map[string]int
	fakes map[string][]byte
}

// New makes the packages.
func New() *Registry {
	return &Registry{asked: map[string]int{}, fakes: map[string][]byte{}, files: map[string][]byte{
		NPMFile: tarball(map[string]string{
			"package/package.json": `{"name":"torno-left","version":"1.0.0","main":"index.js"}`,
			"package/index.js":     "module.exports = 'left of npm'\n",
		}),
		WheelFile: zipped(map[string]string{
			"torno_left.py":                          "said = 'left of pypi'\n",
			"torno_left-1.0.dist-info/METADATA":      "Metadata-Version: 2.1\nName: torno-left\nVersion: 1.0\n",
			"torno_left-1.0.dist-info/WHEEL":         "Wheel-Version: 1.0\nGenerator: torno\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			"torno_left-1.0.dist-info/RECORD":        "torno_left.py,,\ntorno_left-1.0.dist-info/METADATA,,\ntorno_left-1.0.dist-info/WHEEL,,\ntorno_left-1.0.dist-info/RECORD,,\n",
			"torno_left-1.0.dist-info/top_level.txt": "torno_left\n",
		}),
		"/" + Module + "/@v/v1.0.0.info": []byte(`{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`),
		"/" + Module + "/@v/v1.0.0.mod":  []byte("module " + Module + "\n\ngo 1.21\n"),
		ModuleZip: zipped(map[string]string{
			Module + "@v1.0.0/go.mod":  "module " + Module + "\n\ngo 1.21\n",
			Module + "@v1.0.0/left.go": "package left\n\nconst Said = \"left of go\"\n",
		}),
	}}
}

// Asked is how often a path was asked for.
func (r *Registry) Asked(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[path]
}

// Lie has it send something else at a path, whose page goes on to say the digest of what there was; nil ends that.
func (r *Registry) Lie(path string, text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fakes[path] = text
}

// File is what lies at a path.
func (r *Registry) File(path string) []byte { return r.files[path] }

// ServeHTTP answers.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path := q.URL.Path
	r.mu.Lock()
	r.asked[path]++
	file, fake := r.files[path], r.fakes[path]
	r.mu.Unlock()
	switch {
	case path == "/torno-left":
		sum := sha512.Sum512(r.files[NPMFile])
		page(w, "application/json", `{"name":"torno-left","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"torno-left","version":"1.0.0","dist":{"tarball":%q,"integrity":"sha512-%s"}}}}`,
			r.Base+NPMFile, base64.StdEncoding.EncodeToString(sum[:]))
	case path == "/simple/torno-left/":
		sum := sha256.Sum256(r.files[WheelFile])
		page(w, "text/html", `<!DOCTYPE html><html><body><a href="%s#sha256=%s">torno_left-1.0-py3-none-any.whl</a></body></html>`, r.Files+WheelFile, hex.EncodeToString(sum[:]))
	case path == "/"+Module+"/@v/list":
		page(w, "text/plain", "v1.0.0\n")
	case file == nil:
		http.NotFound(w, q)
	default:
		if fake != nil {
			file = fake
		}
		r.send(w, file)
	}
}

// send sends a file, the second half of it after a step.
func (r *Registry) send(w http.ResponseWriter, file []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(len(file)))
	half := len(file) / 2
	_, _ = w.Write(file[:half])
	_ = http.NewResponseController(w).Flush()
	if r.Step != nil {
		<-r.Step
	}
	_, _ = w.Write(file[half:])
}

func page(w http.ResponseWriter, form, text string, args ...any) {
	w.Header().Set("Content-Type", form)
	_, _ = fmt.Fprintf(w, text, args...)
}

func tarball(files map[string]string) []byte {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for name, text := range files {
		must(archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := strings.NewReader(text).WriteTo(archive)
		must(err)
	}
	must(archive.Close())
	must(packed.Close())
	return out.Bytes()
}

func zipped(files map[string]string) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, text := range files {
		file, err := archive.Create(name)
		must(err)
		_, err = strings.NewReader(text).WriteTo(file)
		must(err)
	}
	must(archive.Close())
	return out.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err) // it is written into memory
	}
}
