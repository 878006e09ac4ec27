package upstreams

import (
	"os"
	"path/filepath"
	"testing"

	"torno/internal/gateway/credential"
	"torno/internal/gateway/setup"
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
