//go:build linux

package initproc

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestReach(t *testing.T) {
	dir := t.TempDir()
	for _, address := range []string{
		"unix:" + listen(t, "unix", filepath.Join(dir, "there")), "tcp:" + listen(t, "tcp", "127.0.0.1:0"), "tcp:" + listen(t, "tcp", "[::1]:0"),
	} {
		if err := connect(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, says := range map[string]string{
		"unix:" + filepath.Join(dir, "none"): "no such file", "tcp:127.0.0.1:1": "refused", "udp:127.0.0.1:1": "neither", "tcp:localhost:1": "unable to parse",
		"unix:" + strings.Repeat("x", 200): "invalid argument",
	} {
		if err := connect(address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; it does not say %q", address, err, says)
		}
	}
}
