package socket

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheModeIsTheSocketsOwn: a link that a sandbox put into the socket's place opens no file of the host's.
func TestTheModeIsTheSocketsOwn(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	listener, err := Listen(dir, "sock", 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if info, err := os.Lstat(filepath.Join(dir, "sock")); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := setMode(dir, "link", 0o666); err == nil {
		t.Error("a link has a mode")
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file behind a link: %v, %v", info, err)
	}
	if err := setMode(filepath.Dir(secret), "secret", 0o666); err == nil {
		t.Error("a file is taken for a socket")
	}
}
