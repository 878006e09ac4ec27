package images

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"torno/test/wait"
)

func testLayers(t *testing.T) made {
	return makeImage(t, tarOf(t, folderEntry("etc"), file("etc/x", "1"), file("etc/y", "2")), tarOf(t, file("etc/.wh.x", "")))
}

func TestEachWayToTheSameImage(t *testing.T) {
	image := testLayers(t)
	other := makeImage(t, tarOf(t, file("other", "")))
	one, two := layoutFiles(t, map[string]made{"": image}), layoutFiles(t, map[string]made{"a": image, "b": other})
	c := openCache(t, Options{})
	for _, text := range []string{
		"oci:" + layoutDir(t, one), "archive:" + archiveOf(t, one), "archive:" + archiveOf(t, savedFiles(t, image)),
		"oci:" + layoutDir(t, two) + ":a", "oci:" + layoutDir(t, two) + "@" + image.manifest.String(),
	} {
		got := mustGet(t, c, mustParse(t, text))
		if names(t, got.Dir) != "etc etc/y=2" || got.Digest != image.config.String() || got.Reference != text {
			t.Errorf("%s is %+v with %s", text, got, names(t, got.Dir))
		}
		if !slices.Equal(got.Env, []string{"A=1"}) || !slices.Equal(got.Volumes, []string{"/data", "/up"}) {
			t.Errorf("its configuration is %v %v", got.Env, got.Volumes)
		}
	}
	unharmed(t, c, 1)
	if got := mustGet(t, c, mustParse(t, "oci:"+layoutDir(t, two)+":b")); names(t, got.Dir) != "other=" {
		t.Errorf("the other one is %s", names(t, got.Dir))
	}
	dir := t.TempDir()
	if got := mustGet(t, c, mustParse(t, "dir:"+dir)); got.Dir != dir || got.Pin() != nil {
		t.Errorf("a directory is %+v", got)
	}
}

func TestADamagedImage(t *testing.T) {
	image := testLayers(t)
	good := layoutFiles(t, map[string]made{"": image})
	layer := "blobs/sha256/" + image.layers[0].Hex
	cases := map[string]struct {
		code   Code
		damage func(found map[string][]byte)
	}{
		"another manifest":  {Mismatch, func(f map[string][]byte) { f["blobs/sha256/"+image.manifest.Hex] = []byte("{}") }},
		"another config":    {Mismatch, func(f map[string][]byte) { flip(f, "blobs/sha256/"+image.config.Hex) }},
		"another layer":     {Mismatch, func(f map[string][]byte) { flip(f, layer) }},
		"half a layer":      {Mismatch, func(f map[string][]byte) { f[layer] = f[layer][:len(f[layer])/2] }},
		"too long a layer":  {Mismatch, func(f map[string][]byte) { f[layer] = append(f[layer][:len(f[layer]):len(f[layer])], 0) }},
		"no layer":          {Mismatch, func(f map[string][]byte) { delete(f, layer) }},
		"no manifest":       {NotFound, func(f map[string][]byte) { delete(f, "blobs/sha256/"+image.manifest.Hex) }},
		"no index":          {Malformed, func(f map[string][]byte) { delete(f, "index.json") }},
		"an index of nouns": {Malformed, func(f map[string][]byte) { f["index.json"] = []byte("nouns") }},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			found := map[string][]byte{}
			for name, raw := range good {
				found[name] = slices.Clone(raw)
			}
			test.damage(found)
			c := openCache(t, Options{})
			_, err := c.Get(t.Context(), mustParse(t, "oci:"+layoutDir(t, found)))
			wants(t, err, test.code)
			unharmed(t, c, 0)
			mustGet(t, c, mustParse(t, "oci:"+layoutDir(t, good)))
			unharmed(t, c, 1)
		})
	}
}

func TestAManifestThatIsWrongAboutASize(t *testing.T) {
	for _, by := range []int64{-1, 1} {
		image := testLayers(t)
		m, err := v1.ParseManifest(bytes.NewReader(image.blobs[image.manifest]))
		if err != nil {
			t.Fatal(err)
		}
		m.Layers[1].Size += by
		image.manifest = image.add(toJSON(t, m), types.OCIManifestSchema1).Digest
		c := openCache(t, Options{})
		_, err = c.Get(t.Context(), mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": image}))))
		wants(t, err, Mismatch)
		unharmed(t, c, 0)
	}
}

func TestASavedLayerThatWasChanged(t *testing.T) {
	image := makeImage(t, tarOf(t, file("f", "what was saved")))
	found := savedFiles(t, image)
	layer := digestOf(image.plain[0]).Hex + "/layer.tar"
	found[layer] = bytes.Replace(found[layer], []byte("what was saved"), []byte("what is there."), 1)
	c := openCache(t, Options{})
	_, err := c.Get(t.Context(), mustParse(t, "archive:"+archiveOf(t, found)))
	wants(t, err, Mismatch)
	unharmed(t, c, 0)
}

func flip(found map[string][]byte, name string) { found[name][len(found[name])-1] ^= 1 }

func TestWhoDiesLeavesNothing(t *testing.T) {
	ref := "oci:" + layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)}))
	c := openCache(t, Options{})
	cmd, said := start(t, c.store.dir, ref, "stop", nil)
	if said != "stopped" {
		t.Fatal(said)
	}
	left := func() int {
		t.Helper()
		again := openCache(t, Options{Dir: c.store.dir})
		entries, err := os.ReadDir(again.store.path("tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := left(); n != 1 {
		t.Errorf("while it lives, %d are there", n)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if n := left(); n != 0 {
		t.Errorf("when it is dead, %d are there", n)
	}
	mustGet(t, c, mustParse(t, ref))
	unharmed(t, c, 1)
}

func TestWhatIsUsedStays(t *testing.T) {
	ref := "oci:" + layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)}))
	c := openCache(t, Options{})
	cmd, said := start(t, c.store.dir, ref, "hold", nil)
	if said != "held" {
		t.Fatal(said)
	}
	if freed, err := c.Collect(t.Context(), 0); freed != 0 || err != nil {
		t.Errorf("%d bytes of what another process uses were freed (%v)", freed, err)
	}
	unharmed(t, c, 1)
	cmd.Process.Kill()
	cmd.Wait()
	if freed, err := c.Collect(t.Context(), 0); freed == 0 || err != nil {
		t.Errorf("a dead process holds it (%v)", err)
	}
	unharmed(t, c, 0)
}

func TestAnInheritedPinHolds(t *testing.T) {
	c := openCache(t, Options{})
	image := mustGet(t, c, mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)}))))
	heir := exec.Command("cat")
	heir.ExtraFiles = []*os.File{image.Pin()}
	input, err := heir.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(heir.Start(), image.Close(), image.Close()); err != nil {
		t.Fatal(err)
	}
	if freed, err := c.Collect(t.Context(), 0); freed != 0 || err != nil {
		t.Errorf("%d bytes of what the heir holds were freed (%v)", freed, err)
	}
	if err := errors.Join(input.Close(), heir.Wait()); err != nil {
		t.Fatal(err)
	}
	if freed, err := c.Collect(t.Context(), 0); freed == 0 || err != nil {
		t.Errorf("without an heir nothing was freed (%v)", err)
	}
	unharmed(t, c, 0)
}

func TestTheLongestUnusedGoesFirst(t *testing.T) {
	c := openCache(t, Options{})
	all := map[string]*Image{}
	for i, name := range []string{"a", "b", "c"} {
		image, err := c.Get(t.Context(), mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": makeImage(t, tarOf(t, file(name, "")))}))))
		if err != nil {
			t.Fatal(err)
		}
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		pin := filepath.Join(filepath.Dir(image.Dir), pinName)
		if err := errors.Join(os.Chtimes(pin, used, used), image.Close()); err != nil {
			t.Fatal(err)
		}
		all[name] = image
	}
	again, err := c.Use(t.Context(), all["a"].Digest)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	size := int64(blockSize) * 2
	if freed, err := c.Collect(t.Context(), size); err != nil || freed == 0 {
		t.Fatal(freed, err)
	}
	for name, there := range map[string]bool{"a": true, "b": false} {
		if _, err := os.Lstat(all[name].Dir); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOneDownloadForAll(t *testing.T) {
	entered, goOn := make(chan struct{}), make(chan struct{})
	var count int
	c := openCache(t, Options{Progress: func(string, int64, int64) {
		if count++; count == 1 {
			close(entered)
			<-goOn
		}
	}})
	ref := mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": makeImage(t, tarOf(t, file("f", "")))})))
	first, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := c.Get(first, ref); !errors.Is(err, enough) {
			t.Errorf("who gave up has %v", err)
		}
	})
	<-entered
	for range 4 {
		group.Go(func() {
			image, err := c.Get(t.Context(), ref)
			if err != nil {
				t.Error(err)
				return
			}
			image.Close()
		})
	}
	waiting := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.flights[flightKey{ref.text, ref.pull}].waiting
	}
	wait.Until(t, "five wait", func() bool { return waiting() == 5 })
	cancel(enough)
	wait.Until(t, "four wait", func() bool { return waiting() == 4 })
	close(goOn)
	group.Wait()
	if count != 1 {
		t.Errorf("%d downloads", count)
	}
	if freed, err := c.Collect(t.Context(), 0); freed == 0 || err != nil {
		t.Errorf("somebody still holds it (%v)", err)
	}
	unharmed(t, c, 0)
}

func TestTheLastToLeaveEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var c *Cache
	giveUp := sync.OnceFunc(func() {
		c.mu.Lock()
		for _, f := range c.flights {
			end := f.end
			f.end = func(err error) {
				end(err)
				close(ended)
			}
		}
		c.mu.Unlock()
		cancel()
		<-ended
	})
	c = openCache(t, Options{Progress: func(string, int64, int64) { giveUp() }})
	layers := [][]byte{tarOf(t, file("f", "")), tarOf(t, file("g", noise(3<<20)))}
	_, err := c.Get(ctx, mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": makeImage(t, layers...)}))))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	unharmed(t, c, 0)
}

// noise is content that does not pack.
func noise(n int) string {
	raw := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(raw)
	return string(raw)
}

func TestADamagedCacheHealsItself(t *testing.T) {
	c := openCache(t, Options{})
	ref := mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)})))
	image := mustGet(t, c, ref)
	image.Close()
	if err := os.Truncate(filepath.Join(filepath.Dir(image.Dir), recordName), 3); err != nil {
		t.Fatal(err)
	}
	if got := mustGet(t, c, ref); names(t, got.Dir) != "etc etc/y=2" {
		t.Errorf("it holds %s", names(t, got.Dir))
	}
	unharmed(t, c, 1)
}

func TestACacheThatOthersEnter(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "0700") {
		t.Errorf("it is taken: %v", err)
	}
}

func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is one")
	}
	layer := tarOf(t, entry{name: "closed", kind: 0x35, mode: 0o1}, file("closed/f", "x"), entry{name: "none", kind: 0x30, mode: 0o1000},
		symlink("l", "/etc"), hardlink("h", "closed/f"))
	image := layoutFiles(t, map[string]made{"": makeImage(t, layer, layer, tarOf(t, file(".wh.closed", "")))})
	base, err := os.MkdirTemp("", "images") // a test's own directory is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	const nobody = 65534
	at, dir := filepath.Join(base, "image.tar"), filepath.Join(base, "cache")
	if err := errors.Join(os.Rename(archiveOf(t, image), at), os.Chmod(base, 0o755), os.Mkdir(dir, 0o700), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if _, said := start(t, dir, "archive:"+at, "collect", &syscall.Credential{Uid: nobody, Gid: nobody}); said != "collected: true" {
		t.Error(said)
	}
}
