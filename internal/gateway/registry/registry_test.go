package registry

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torno/internal/gateway/cache"
)

func read(t testing.TB, kind, form, page, text string, piece int) map[string]string {
	t.Helper()
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	i := NewIndex(kind, form, at, func(address string, d cache.Digest) { all[address] = d.String() })
	if i == nil {
		return nil
	}
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := i.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	i.Close()
	return all
}

// TestPagesOfRegistries: each file that a page names, with its strongest digest, wherever the page is cut.
func TestPagesOfRegistries(t *testing.T) {
	s256, s512 := sha256.Sum256([]byte("x")), sha512.Sum512([]byte("x"))
	h256, b512 := hex.EncodeToString(s256[:]), base64.StdEncoding.EncodeToString(s512[:])
	h512 := "sha512-" + hex.EncodeToString(s512[:])
	sha1 := strings.Repeat("ab", 20)
	for name, c := range map[string]struct {
		kind, form, text string
		want             map[string]string
	}{
		"npm": {NPM, "application/vnd.npm.install-v1+json; charset=utf-8", fmt.Sprintf(`{"name":"a","readme":"\"versions\":{}","versions":{
			"1.0.0":{"dist":{"shasum":%q,"tarball":"https://r.example/a/-/a-1.0.0.tgz","integrity":"sha256-AAAA sha512-%s","signatures":[{"sig":"x"}]},"deps":[{"x":1}]},
			"0.9.0":{"dist":{"tarball":"https://r.example/a/-/a-0.9.0.tgz","shasum":%q,"n":{"tarball":"https://evil/"}}},
			"0.1.0":{"dist":{"tarball":"https://r.example/a/-/a-0.1.0.tgz"}}},
			"dist":{"tarball":"https://evil/","shasum":%q}}`, sha1, b512, sha1, sha1), map[string]string{
			"https://r.example/a/-/a-1.0.0.tgz": h512, "https://r.example/a/-/a-0.9.0.tgz": "sha1-" + sha1,
		}},
		"pypi": {PyPI, "text/html", fmt.Sprintf(`<a href="https://files.example/p/a.whl?x=1&amp;y=2#sha256=%s" data-x="y">a</a><a href="../../p/b.whl#sha256=%[1]s">b</a>
			<a href="https://files.example/none.whl">c</a><a href="https://files.example/md5.whl#md5=00">d</a>`, h256), map[string]string{
			"https://files.example/p/a.whl?x=1&y=2": "sha256-" + h256, "https://r.example/p/b.whl": "sha256-" + h256,
		}},
		"pypi json": {PyPI, "application/vnd.pypi.simple.v1+json", fmt.Sprintf(`{"meta":{"api-version":"1.0"},"files":[
			{"url":"https://files.example/a.whl","hashes":{"sha256":%q},"core-metadata":{"sha256":"00"}},{"filename":"n","url":"https://files.example/n.whl","hashes":{}},
			{"hashes":{"sha256":%[1]q},"url":"https://files.example/b.whl","yanked":false}]}`, h256), map[string]string{
			"https://files.example/a.whl": "sha256-" + h256, "https://files.example/b.whl": "sha256-" + h256,
		}},
		"broken":          {NPM, "application/json", `{"versions":{"1":{"dist":{"tarball":"https://r.example/x"`, map[string]string{}},
		"deep":            {NPM, "application/json", strings.Repeat(`{"versions":`, 100_000), map[string]string{}},
		"a list":          {PyPI, "application/json", `[[[],{}],"url",1]`, map[string]string{}},
		"another address": {NPM, "application/json", `{"versions":{"1":{"dist":{"tarball":"://\u0000","shasum":"` + sha1 + `"}}}}`, map[string]string{}},
		"no page":         {NPM, "application/octet-stream", `x`, nil},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			if got := read(t, c.kind, c.form, "https://r.example/simple/a/", c.text, piece); !maps.Equal(got, c.want) {
				t.Errorf("%s in pieces of %d: %v", name, piece, got)
			}
		}
	}
}

func TestWhatLasts(t *testing.T) {
	for path, want := range map[string]bool{
		"/x/@v/v1.2.3.zip": true, "/x/@v/v1.2.3-0.20200101000000-abcdefabcdef.mod": true, "/x/@v/v2.0.0+incompatible.info": true,
		"/x/@v/list": false, "/x/@latest": false, "/x/@v/master.info": false, "/x/@v/v1.info": false, "/x/@v/v1.2.info": false, "/x/@v/v1.2.3.zip/": false,
		"/sumdb/sum.golang.org/latest": false,
	} {
		if got := Lasts(GoProxy, path); got != want || Lasts(NPM, path) {
			t.Errorf("%s lasts: %v", path, got)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add(NPM, "application/json", `{"versions":{"1":{"dist":{"tarball":"x","shasum":"`+strings.Repeat("00", 20)+`"}}}}`)
	f.Add(PyPI, "text/html", `<a href="a#sha256=`+strings.Repeat("0", 64)+`">`)
	f.Fuzz(func(t *testing.T, kind, form, text string) {
		whole, cut := read(t, kind, form, "https://r.example/a/", text, 1<<20), read(t, kind, form, "https://r.example/a/", text, 3)
		if !maps.Equal(whole, cut) {
			t.Errorf("%v whole, and %v in pieces", whole, cut)
		}
	})
}

// TestLongNamesAreNotKept: a page has one long name within the other, and they are held as long as its reader waits.
func TestLongNamesAreNotKept(t *testing.T) {
	name := `{"` + strings.Repeat("x", maxName+1) + `":`
	page := `{"versions":` + strings.Repeat(name, maxDepth-2) + `"value"` + strings.Repeat("}", maxDepth-1)
	seen := 0
	walk(calm{strings.NewReader(page)}, func(path []string, _ string) {
		seen++
		if all := strings.Join(path, ""); all != "versions" {
			t.Errorf("%d bytes of names are held", len(all))
		}
	}, func([]string) {})
	if seen != 1 {
		t.Errorf("%d values are seen", seen)
	}
}

// TestATextWithoutAnEnd: the gateway passes such a page on, does not hold it in memory, and does not learn its files.
func TestATextWithoutAnEnd(t *testing.T) {
	at, err := url.Parse("https://registry.example/x")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	i := NewIndex(NPM, "application/json", at, func(string, cache.Digest) { t.Error("a file is told") })
	const size = 32 << 20
	member := `":"` + strings.Repeat("y", 1<<16) + `",`
	_, err = io.WriteString(i, `{"versions":{"1":{"dist":{`)
	for n := 0; n < size && err == nil; n += len(member) {
		_, err = io.WriteString(i, `"`+strconv.Itoa(n)+member)
	}
	held := func(what string) {
		runtime.GC()
		runtime.ReadMemStats(&after)
		if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > size/4 {
			t.Errorf("%d MiB of %s hold %d MiB", size>>20, what, used>>20)
		}
	}
	held("members")
	if _, err2 := io.WriteString(i, `"readme":"`); errors.Join(err, err2) != nil {
		t.Fatal(err, err2)
	}
	part := bytes.Repeat([]byte("x"), 16<<10)
	for range size / len(part) {
		if _, err := i.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	held("a text")
	i.Close()
}

// drops returns a page byte by byte. It counts the calls that offer at least as much room as the call before: with each
// of them, a reader begins anew to fill its buffer.
type drops struct {
	page  []byte
	room  int
	times int
}

func (d *drops) Read(into []byte) (int, error) {
	if len(d.page) == 0 {
		return 0, io.EOF
	}
	if len(into) >= d.room {
		d.times++
	}
	d.room = len(into)
	into[0] = d.page[0]
	d.page = d.page[1:]
	return 1, nil
}

// TestAPageInDrops: the page is not searched anew for each byte of it.
func TestAPageInDrops(t *testing.T) {
	const address = "https://files.pythonhosted.org/a.whl"
	sum := strings.Repeat("ab", 32)
	page := &drops{page: []byte(strings.Repeat("<p>nothing</p>\n", 4<<10) + `<a href="` + address + `#sha256=` + sum + `">a</a>`)}
	most := len(page.page)/maxLink + 1
	var told []string
	pypiHTML(calm{page}, func(address string, _ cache.Digest) { told = append(told, address) })
	if page.times > most || !slices.Equal(told, []string{address}) {
		t.Errorf("searched %d times, and %d are enough; told %q", page.times, most, told)
	}
}

// TestCalmReadsMuchAtOnce: it returns a page that arrives byte by byte in large pieces, also to json.Decoder.
func TestCalmReadsMuchAtOnce(t *testing.T) {
	text := "{" + strings.Repeat(" ", 2*maxLink) + `"files":[{"url":"https://a/b.whl","hashes":{"sha256":"` + strings.Repeat("ab", 32) + `"}}]}`
	in := calm{&drops{page: []byte(text)}}
	var sizes []int
	for {
		n, err := in.Read(make([]byte, 3*maxLink))
		sizes = append(sizes, n)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{maxLink, maxLink, len(text) - 2*maxLink}; !slices.Equal(sizes, want) {
		t.Errorf("it reads %v, want %v", sizes, want)
	}
	told := 0
	pypiJSON(calm{&drops{page: []byte(text)}}, func(string, cache.Digest) { told++ })
	if told != 1 {
		t.Errorf("%d files are told", told)
	}
}
