package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/internal/mounts"
	"torno/sandbox"
)

var quiet = slog.New(slog.DiscardHandler)

func TestOptions(t *testing.T) {
	good := Options{Installation: "0123456789abcdef", StateDir: "/state", InitPath: "/init", Bases: &mounts.Bases{}}
	checked, err := good.checked()
	if err != nil || checked.Mounts != MountAuto || checked.UIDs.First != 2_000_000_000 || checked.Observe == nil || checked.Log == nil {
		t.Errorf("defaults: %+v, %v", checked, err)
	}
	if here, err := checked.EnginePath("/x"); here != "/x" || err != nil {
		t.Errorf("the engine's view of /x is %q, %v", here, err)
	}
	for what, spoil := range map[string]func(*Options){
		"a short id":        func(o *Options) { o.Installation = "0123" },
		"an id of capitals": func(o *Options) { o.Installation = "0123456789ABCDEF" },
		"a relative state":  func(o *Options) { o.StateDir = "state" },
		"no init":           func(o *Options) { o.InitPath = "" },
		"no roots":          func(o *Options) { o.Bases = nil },
		"an unknown mode":   func(o *Options) { o.Mounts = "by-magic" },
		"ids from root":     func(o *Options) { o.UIDs = UIDRange{First: 0, Count: 5} },
		"no ids":            func(o *Options) { o.UIDs = UIDRange{First: 5} },
		"ids beyond":        func(o *Options) { o.UIDs = UIDRange{First: 1<<31 - 3, Count: 3} },
	} {
		bad := good
		spoil(&bad)
		if _, err := bad.checked(); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

func TestNames(t *testing.T) {
	n := naming{"0123456789abcdef", "/var/lib/torno"}
	run := strings.Repeat("ab", 16)
	if got := n.container(run); got != "torno-01234567-abababababababababab" {
		t.Errorf("a run's container is %s", got)
	}
	labels := n.runLabels(run, "p", 7)
	h, err := n.handle("id", labels)
	if want := (sandbox.Handle{Launcher: "docker", ID: "id", Key: run, Slot: 7}); err != nil || h != want {
		t.Errorf("handle %+v, %v", h, err)
	}
	if len(labels) != 6 || labels[labelState] != "/var/lib/torno" {
		t.Errorf("a container has the labels %v", labels)
	}
	for what, spoil := range map[string]func(map[string]string){
		"another installation": func(l map[string]string) { l[labelInstallation] = "fedcba9876543210" },
		"a role":               func(l map[string]string) { l[labelRun] = roleTrial },
		"no slot":              func(l map[string]string) { delete(l, labelSlot) },
	} {
		spoiled := n.runLabels(run, "p", 7)
		spoil(spoiled)
		if h, err := n.handle("id", spoiled); err == nil {
			t.Errorf("%s: %+v", what, h)
		}
	}
}

func TestLayoutOfHosts(t *testing.T) {
	merged, split := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{"bin": "usr/bin", "lib64": "/usr/lib64", "sbin": "../etc", "lib": "bin/../../x"} {
		if err := os.Symlink(target, filepath.Join(merged, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "lib"} {
		if err := os.Mkdir(filepath.Join(split, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if l := readLayout(merged); len(l.links) != 2 || l.links["bin"] != "usr/bin" || l.links["lib64"] != "/usr/lib64" || len(l.dirs) != 0 {
		t.Errorf("merged: %+v", l)
	}
	l := readLayout(split)
	if len(l.links) != 0 || !slices.Equal(l.dirs, []string{"bin", "lib"}) {
		t.Errorf("split: %+v", l)
	}
	if all := l.mounts("/etc-1", "/empty"); len(all) != 5 || all[4].Source != "/lib" || !all[4].ReadOnly {
		t.Errorf("the mounts of a split host are %+v", all)
	}
}

func TestEmptyImage(t *testing.T) {
	layout := hostLayout{links: map[string]string{"bin": "usr/bin"}, dirs: []string{"lib"}}
	content, err := layout.tar()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := layout.tar(); !bytes.Equal(content, again) {
		t.Error("the same image has two contents, so that every start would import another")
	}
	seen := map[string]int64{}
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeDir && header.Typeflag != tar.TypeSymlink {
			t.Errorf("%s is neither a directory nor a link", header.Name)
		}
		seen[header.Name] = header.Mode
	}
	if seen["tmp/"] != 0o1777 || seen["usr/"] != 0o755 || seen["bin"] == 0 || seen["lib/"] == 0 || seen["var/"] != 0 {
		t.Errorf("the image has %v", seen)
	}
}

// TestStagedEtc has a host with secrets in all the places that a child sees something of.
func TestStagedEtc(t *testing.T) {
	host, state := t.TempDir(), t.TempDir()
	write := func(name string, mode fs.FileMode) {
		file := filepath.Join(host, "etc", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ssl/certs/ca.pem", "ld.so.cache", "services", "ld.so.conf.d/x.conf", "hosts", "passwd", "resolv.conf"} {
		write(name, 0o644)
	}
	for _, name := range []string{"shadow", "ssl/private/key.pem", "gitconfig", "environment"} {
		write(name, 0o644)
	}
	write("ssl/certs/server.key", 0o640)
	write("alternatives/deep/secret", 0o600)
	if err := os.Symlink("/usr/share/zoneinfo/UTC", filepath.Join(host, "etc", "localtime")); err != nil {
		t.Fatal(err)
	}
	dir, err := stageEtc(host, state)
	if err != nil {
		t.Fatal(err)
	}
	again, err := stageEtc(host, state)
	if err != nil || again != dir {
		t.Errorf("the same files are staged as %s and as %s, %v", dir, again, err)
	}
	want := []string{
		"alternatives", "alternatives/deep", "group", "hostname", "hosts", "ld.so.cache", "ld.so.conf.d", "ld.so.conf.d/x.conf",
		"localtime", "nsswitch.conf", "passwd", "resolv.conf", "services", "ssl", "ssl/certs", "ssl/certs/ca.pem",
	}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("staged are\n%v, want\n%v", got, want)
	}
	if hosts, err := os.ReadFile(filepath.Join(dir, "hosts")); err != nil || string(hosts) == "hosts" {
		t.Errorf("hosts is the host's: %q, %v", hosts, err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, ".etc-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	write("ssl/certs/another.pem", 0o644)
	if newer, err := stageEtc(host, state); err != nil || newer == dir {
		t.Errorf("other files are staged in the same place, %v", err)
	}
}

// tree is what a directory holds. Everything in it must be open to be read by everybody.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o755, false: 0o644}[entry.IsDir()]; entry.Type()&fs.ModeSymlink == 0 && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if path != dir {
			names = append(names, path[len(dir)+1:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCoversOfVolumes(t *testing.T) {
	covers, err := coversOf([]string{"/data/", "/home/agent", "/tmp", "/var/lib/x"})
	if err != nil || !slices.Equal(covers, []string{"/data", "/var/lib/x"}) {
		t.Errorf("%v, %v", covers, err)
	}
	for _, bad := range []string{"/", "data", "/run", "/run/torno", "/run/torno/bin", "/run/torno/run/x"} {
		if covers, err := coversOf([]string{bad}); err == nil {
			t.Errorf("%s is covered by %v", bad, covers)
		}
	}
	if _, err := coversOf(strings.Split("/1 /2 /3 /4 /5 /6 /7 /8 /9", " ")); err == nil {
		t.Error("there is no end to volumes")
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]bool{
		"task": true, "config.yaml": true, "": false, ".": false, "..": false, "a/b": false, "etc": false, "run.json": false, "/x": false,
	} {
		if err := checkFileName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestViews(t *testing.T) {
	wanted := []sandbox.Mount{
		{Target: "/p", Prefix: "/p"},
		{Target: "/context/a", Prefix: "/context"},
		{Target: "/p/x/ws", Prefix: "/p"},
		{Target: "/context/b", Prefix: "/context"},
	}
	views := viewsOf(wanted)
	if len(views) != 2 || views[0].root != onPrefix || views[1].root != "." ||
		!slices.Equal(views[0].mounts, []int{0, 2}) || !slices.Equal(views[1].mounts, []int{1, 3}) {
		t.Fatalf("%+v", views)
	}
	for target, want := range map[string]string{"/p": "self", "/p/x/ws": "self/x/ws"} {
		if rel, err := views[0].rel(target); err != nil || rel != want {
			t.Errorf("%s lies at %q, %v", target, rel, err)
		}
	}
	if rel, err := views[1].rel("/context/b"); err != nil || rel != "b" {
		t.Errorf("/context/b lies at %q, %v", rel, err)
	}
	if rel, err := views[0].rel("/pp"); err == nil {
		t.Errorf("/pp lies at %q", rel)
	}
}

func TestProgressOfThePull(t *testing.T) {
	for text, fails := range map[string]bool{
		"":                       false,
		`{"status":"a"}{"x":1}`:  false,
		`{"error":"no space\n"}`: true,
		`{"status"`:              true,
	} {
		if err := drain(io.NopCloser(strings.NewReader(text))); (err != nil) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
}
