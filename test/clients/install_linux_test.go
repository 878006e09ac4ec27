package clients

import (
	"context"
	"os"
	"sync"
	"testing"

	"torno/test/agents"
)

// needClients fetches the clients, and returns the directory in which they are installed.
func needClients(t testing.TB) string {
	t.Helper()
	return need(t, fetchedClients)
}

// need fetches what npm has. Where it cannot be had it skips loudly, and fails in CI.
func need(t testing.TB, fetched func() (string, error)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves real clients out")
	}
	dir, err := fetched()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("in CI nothing that matters is skipped:", err)
	default:
		t.Skip("NOT SHOWN HERE:", err)
	}
	return dir
}

// What npm has. The registry is asked once for each, also where it cannot be reached.
var (
	fetchedClients     = sync.OnceValues(func() (string, error) { return agents.Fetched(context.Background()) })
	fetchedConformance = sync.OnceValues(func() (string, error) { return agents.Fetch(context.Background(), os.DirFS("testdata/conformance")) })
)
