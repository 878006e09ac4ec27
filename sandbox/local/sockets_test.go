package local

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox"
)

// TestNoEnginesSocketByAnyName has a socket of an engine's, by a link and by another name, and one that is nobody's.
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
		if err == nil && (found.Path != "/run/x" || found.Device == 0 || found.Inode == 0) {
			t.Errorf("%s: init is to find %+v", name, found)
		}
	}
}
