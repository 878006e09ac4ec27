package upstreams

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/gateway/credential"
	"torno/internal/gateway/setup"
	"torno/test/missing"
)

func TestOpen(t *testing.T) {
	s, err := setup.Parse([]byte("routes: {claude: {preset: anthropic, credential: {file: /etc/torno/anthropic.key}}, npm: {preset: npm}}"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Open(t.Context(), s.Routes, credential.NewKnown(), nil)
	if err != nil || len(all) != 2 || all[0].Transport == nil || all[0].Credential == nil {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestRootsOfAnother: a user who can replace a route's certificates can make the gateway send the credential to a server of their own.
func TestRootsOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root gives directories away")
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	dir := t.TempDir()
	roots := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(roots, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := setup.Parse([]byte("routes: {a: {preset: anthropic, roots: " + roots + "}}"))
	if err != nil {
		t.Fatal(err)
	}
	opened := func() error {
		_, err := Open(t.Context(), s.Routes, credential.NewKnown(), nil)
		return err
	}
	if err := opened(); err != nil {
		t.Error("where nobody else writes:", err)
	}
	if err := os.Chown(dir, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if err := opened(); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") {
		t.Error("below a directory of another user:", err)
	}
}

// TestRootsThatAreNone: a route whose certificates cannot be read is no route with the system's.
func TestRootsThatAreNone(t *testing.T) {
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{roots, roots + ".gone"} {
		s, err := setup.Parse([]byte("routes: {a: {preset: anthropic, roots: " + path + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), s.Routes, credential.NewKnown(), nil); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
}
