package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// fetchBudget is for half a gigabyte from the registry.
const fetchBudget = 5 * time.Minute

// needClients fetches the clients, and returns the directory that npm has put them in.
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
	fetchedClients     = sync.OnceValues(func() (string, error) { return fetch(context.Background(), "testdata/npm") })
	fetchedConformance = sync.OnceValues(func() (string, error) { return fetch(context.Background(), "testdata/conformance") })
)

// fetch has npm fetch what a directory names, unless the cache has exactly that. npm checks the archives against the sums of the lock
// file, and runs none of their scripts.
func fetch(ctx context.Context, wanted string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := os.ReadFile(filepath.Join(wanted, "package-lock.json"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "torno", "clients", fmt.Sprintf("%x", sha256.Sum256(lock))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := install(ctx, wanted, scratch); err != nil {
		return "", err
	}
	if err := os.Rename(scratch, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // another process may have been faster
			return "", err
		}
	}
	return dir, nil
}

func install(ctx context.Context, wanted, dir string) error {
	if err := os.CopyFS(dir, os.DirFS(wanted)); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchBudget)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm does not fetch %s: %w\n%s", wanted, err, bytes.TrimSpace(out))
	}
	return nil
}
