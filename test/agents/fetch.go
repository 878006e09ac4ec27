package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// fetchBudget is for half a gigabyte from the registry.
const fetchBudget = 5 * time.Minute

//go:embed npm
var pinned embed.FS

// Fetched is the directory in which the agents are installed. Where the cache does not have them, npm fetches them.
func Fetched(ctx context.Context) (string, error) {
	wanted, err := fs.Sub(pinned, "npm")
	if err != nil {
		return "", err
	}
	dir, err := Fetch(ctx, wanted)
	return filepath.Join(dir, "node_modules"), err
}

// Fetch has npm fetch what the files of a package name, unless the cache has exactly that. npm checks the archives against the sums of the
// lock file, and runs none of their scripts.
func Fetch(ctx context.Context, wanted fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := fs.ReadFile(wanted, "package-lock.json")
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

func install(ctx context.Context, wanted fs.FS, dir string) error {
	if err := os.CopyFS(dir, wanted); err != nil {
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
		return fmt.Errorf("npm does not fetch the packages: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
