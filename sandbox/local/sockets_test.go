package local

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/test/missing"
)

// TestNoEnginesSocketByAnyName has a socket of an engine's, by a link and by another name, and a socket of no engine.
func TestNoEnginesSocketByAnyName(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"engine", "other"} {
		listener, err := net.Listen("unix", at(name))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	for _, err := range []error{
		os.Link(at("engine"), at("second")), os.Symlink("engine", at("link")), os.Symlink("engine", at("known as")), os.WriteFile(at("file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, says := range map[string]string{
		"other": "", "engine": "engine's own", "second": "engine's own", "link": "not a unix socket", "file": "not a unix socket", "none": "no such file",
	} {
		found, err := CheckSocket(sandbox.Socket{Host: at(name), Target: "/run/x"}, EngineSockets(at("nowhere"), at("known as")))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (found.Source != at(name) || found.Mount.Path != "/run/x" || found.Mount.Device == 0 || found.Mount.Inode == 0) {
			t.Errorf("%s: init is to find %+v", name, found)
		}
	}
}

// TestALastingSocket is found by its directory, which its owner alone may write: another user who may write there could put another
// socket in its place.
func TestALastingSocket(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	asked := sandbox.Socket{Host: socket, Target: "/run/torno/door/sock", Lasting: true}
	for mode, taken := range map[os.FileMode]bool{0o755: true, 0o700: true, 0o775: false, 0o1777: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		found, err := CheckSocket(asked, nil)
		if (err == nil) != taken || taken && (found.Source != dir || found.Mount.Path != "/run/torno/door" || found.Mount.Inode == 0) {
			t.Errorf("mode %o: %+v, %v", mode, found, err)
		}
	}
}

// TestASecondNameOfAnothersSocket (G45): a gateway of another user's, which was taken over, has in the directory of its door a second name of
// a socket that is a service's.
func TestASecondNameOfAnothersSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "it takes root to have files of two users")
	}
	const gateway = 2_000_065_537
	host, dir := t.TempDir(), t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(host, "service"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket := filepath.Join(dir, "sock")
	for _, err := range []error{os.Link(filepath.Join(host, "service"), socket), os.Chown(dir, gateway, gateway), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := sandbox.Socket{Host: socket, Target: sandbox.DoorSocket, Lasting: true}
	if found, err := CheckSocket(asked, nil); err == nil {
		t.Errorf("a sandbox gets %+v", found)
	}
	if err := os.Chown(socket, gateway, gateway); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckSocket(asked, nil); err != nil {
		t.Error(err)
	}
}
