package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

var quiet = slog.New(slog.DiscardHandler)

func TestOptions(t *testing.T) {
	good := Options{Options: local.Options{Installation: "0123456789abcdef", StateDir: "/state", InitPath: "/init", Bases: &mounts.Bases{}}}
	checked, err := good.checked()
	if err != nil || checked.Mounts != MountAuto || checked.UIDs.First != 2_000_000_000 || checked.Observe == nil || checked.Log == nil {
		t.Errorf("defaults: %+v, %v", checked, err)
	}
	if here, err := checked.EnginePath("/x"); here != "/x" || err != nil {
		t.Errorf("the engine's view of /x is %q, %v", here, err)
	}
	for what, spoil := range map[string]func(*Options){
		"no installation": func(o *Options) { o.Installation = "" },
		"an unknown mode": func(o *Options) { o.Mounts = "by-magic" },
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
	id := sandbox.SandboxID(strings.Repeat("ab", 16))
	if got := n.container(id); got != "torno-01234567-abababababababababab" {
		t.Errorf("a sandbox's container is %s", got)
	}
	labels := n.sandboxLabels(id, "p", 7)
	h, err := n.handle("id", labels)
	if want := (sandbox.Handle{Launcher: "docker", ID: "id", Sandbox: id, Slot: 7}); err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("handle %+v, %v", h, err)
	}
	if len(labels) != 6 || labels[labelState] != "/var/lib/torno" {
		t.Errorf("a container has the labels %v", labels)
	}
	before := n.sandboxLabels(id, "p", 7)
	delete(before, labelSandbox)
	before[labelBefore] = string(id)
	if h, err := n.handle("id", before); err != nil || h.Sandbox != id || holds(before) || !holds(labels) {
		t.Errorf("of the first version: %+v, %v, holds %t", h, err, holds(before))
	}
	for what, spoil := range map[string]func(map[string]string){
		"another installation": func(l map[string]string) { l[labelInstallation] = "fedcba9876543210" },
		"a role":               func(l map[string]string) { l[labelSandbox] = roleTrial },
		"no slot":              func(l map[string]string) { delete(l, labelSlot) },
	} {
		spoiled := n.sandboxLabels(id, "p", 7)
		spoil(spoiled)
		if h, err := n.handle("id", spoiled); err == nil {
			t.Errorf("%s: %+v", what, h)
		}
	}
}

func TestEmptyImage(t *testing.T) {
	layout := hostroot.Layout{Links: map[string]string{"bin": "usr/bin"}, Dirs: []string{"lib"}}
	content, err := emptyTar(layout)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := emptyTar(layout); !bytes.Equal(content, again) {
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
