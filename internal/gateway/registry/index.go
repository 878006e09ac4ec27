package registry

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"torno/internal/gateway/cache"
)

// Kinds of registries, by the names of their presets.
const (
	NPM     = "npm"
	PyPI    = "pypi"
	GoProxy = "goproxy"
)

// Told is called for each file that a page names.
type Told func(address string, digest cache.Digest)

// Index reads a page as it passes.
type Index struct {
	to   *io.PipeWriter
	done chan struct{}
}

// NewIndex starts to read a page of a registry. It returns nil if such a page names no files.
func NewIndex(kind, mediaType string, page *url.URL, told Told) *Index {
	form, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return nil
	}
	isJSON := form == "application/json" || strings.HasSuffix(form, "+json")
	var read func(calm, Told)
	switch {
	case kind == NPM && isJSON:
		read = npm
	case kind == PyPI && isJSON:
		read = pypiJSON
	case kind == PyPI && (form == "text/html" || strings.HasSuffix(form, "+html")):
		read = pypiHTML
	default:
		return nil
	}
	from, to := io.Pipe()
	i := &Index{to: to, done: make(chan struct{})}
	go func() {
		defer close(i.done)
		read(calm{from}, func(address string, d cache.Digest) {
			if at, err := page.Parse(address); err == nil && d.Valid() {
				at.Fragment, at.RawFragment = "", ""
				told(at.String(), d)
			}
		})
		_, _ = io.Copy(io.Discard, from) // the rest of a page that is not understood still passes
	}()
	return i
}

// Write takes the next part of the page.
func (i *Index) Write(p []byte) (int, error) { return i.to.Write(p) }

// Close returns when all files of the page were told.
func (i *Index) Close() {
	i.to.Close()
	<-i.done
}

// npm reads these members of dist.
var distFields = []string{"tarball", "integrity", "shasum"}

// npm reads a packument: each versions.VERSION.dist holds tarball, and integrity or shasum.
func npm(page calm, told Told) {
	fields := map[string]string{}
	walk(page, func(path []string, value string) {
		if len(path) == 4 && path[0] == "versions" && path[2] == "dist" && slices.Contains(distFields, path[3]) {
			fields[path[3]] = value
		}
	}, func(path []string) {
		if len(path) == 3 && path[0] == "versions" && path[2] == "dist" {
			told(fields["tarball"], integrity(fields["integrity"], fields["shasum"]))
			clear(fields)
		}
	})
}

// integrity returns the strongest of several digests (sha512-BASE64 sha256-BASE64), or else the old sha1 digest.
func integrity(all, shasum string) (best cache.Digest) {
	if sum, err := hex.DecodeString(shasum); err == nil {
		best = cache.Digest{Algorithm: "sha1", Sum: string(sum)}
	}
	for one := range strings.FieldsSeq(all) {
		algorithm, text, _ := strings.Cut(one, "-")
		text, _, _ = strings.Cut(text, "?")
		sum, err := base64.StdEncoding.DecodeString(text)
		d := cache.Digest{Algorithm: algorithm, Sum: string(sum)}
		if err == nil && d.Valid() && len(d.Sum) > len(best.Sum) {
			best = d
		}
	}
	return best
}

// pypiJSON reads a page of PEP 691, files[].{url, hashes.sha256}, or of the older API, urls[].{url, digests.sha256},
// and the same below releases.VERSION[].
func pypiJSON(page calm, told Told) {
	var address, sum string
	walk(page, func(path []string, value string) {
		switch last := path[len(path)-1]; {
		case last == "url":
			address = value
		case last == "sha256" && len(path) > 1 && (path[len(path)-2] == "hashes" || path[len(path)-2] == "digests"):
			sum = value
		}
	}, func(path []string) {
		if address != "" && sum != "" && len(path) > 0 && path[len(path)-1] == element {
			told(address, hexadecimal("sha256", sum))
		}
		if len(path) > 0 && path[len(path)-1] == element {
			address, sum = "", ""
		}
	})
}

func hexadecimal(algorithm, text string) cache.Digest {
	sum, err := hex.DecodeString(text)
	if err != nil {
		return cache.Digest{}
	}
	return cache.Digest{Algorithm: algorithm, Sum: string(sum)}
}

// link matches a link with a digest on a page of PyPI: <a href="https://…/x.whl#sha256=…">.
var link = regexp.MustCompile(`href="([^"#<>]{1,1000})#(sha256|sha512)=([0-9a-f]{64,128})"`)

// maxLink bounds the bytes at the end of a window that pypiHTML searches again: no link that matches is as long.
const maxLink = 8 << 10

// pypiHTML finds links, also if the page arrives cut in the middle of one.
func pypiHTML(page calm, told Told) {
	window := make([]byte, 0, 64<<10)
	for {
		n, err := page.Read(window[len(window):cap(window)])
		window = window[:len(window)+n]
		end := 0
		for _, at := range link.FindAllSubmatchIndex(window, -1) {
			told(unescape(string(window[at[2]:at[3]])), hexadecimal(string(window[at[4]:at[5]]), string(window[at[6]:at[7]])))
			end = at[1]
		}
		keep := max(end, len(window)-maxLink)
		window = window[:copy(window, window[keep:])]
		if err != nil {
			return
		}
	}
}

// calm waits until it has maxLink bytes, or as many as the caller has room for, and returns them together. After each
// read pypiHTML searches all that it has kept, and json.Decoder looks at all blanks again. So without calm, a page that
// arrives byte by byte would cost much processor time for each byte.
type calm struct{ page io.Reader }

func (c calm) Read(p []byte) (int, error) {
	n, err := io.ReadAtLeast(c.page, p, min(len(p), maxLink))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// unescape undoes the only escape that addresses need in HTML.
func unescape(text string) string { return strings.ReplaceAll(text, "&amp;", "&") }
