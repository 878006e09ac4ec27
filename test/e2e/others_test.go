package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"torno/test/house"
)

// throughTheAPI makes, starts, awaits and removes a container over the engine's API, with nothing of ours.
func throughTheAPI(b *testing.B, e house.Engine, image string, i int) time.Duration {
	b.Helper()
	body := fmt.Appendf(nil, `{"Image":%q,"NetworkDisabled":true,"HostConfig":{"NetworkMode":"none"}}`, image)
	begin := time.Now()
	id, err := e.Create(fmt.Sprint("torno-bare-", i), body)
	if err != nil {
		b.Fatal(err)
	}
	e.Finish(b, id)
	e.Remove(b, id)
	return time.Since(begin)
}

// throughBwrap runs the program of a root in namespaces of its own, where there is bubblewrap.
func throughBwrap(b *testing.B, root string) (took time.Duration, there bool) {
	b.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return 0, false
	}
	begin := time.Now()
	if out, err := exec.Command(bwrap, "--unshare-all", "--ro-bind", root, "/", "/noop").CombinedOutput(); err != nil {
		b.Fatalf("bwrap: %v\n%s", err, out)
	}
	return time.Since(begin), true
}

// poll is how often MassGen's watcher looks for requests, and its client for the response.
const poll = 500 * time.Millisecond

// throughPolls runs a program without any sandbox, the way that MassGen's watcher and client do: both look twice a second.
func throughPolls(b *testing.B, program string) time.Duration {
	b.Helper()
	dir := b.TempDir()
	request, response := filepath.Join(dir, "request"), filepath.Join(dir, "response")
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	defer func() { cancel(); <-served }()
	go func() { served <- servePolls(ctx, request, response, program) }()
	begin := time.Now()
	if err := os.WriteFile(request, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	for {
		if _, err := os.Stat(response); err == nil {
			return time.Since(begin)
		}
		<-time.After(poll)
	}
}

func servePolls(ctx context.Context, request, response, program string) error {
	for ticks := time.NewTicker(poll); ; {
		if _, err := os.Stat(request); err == nil {
			if err := exec.CommandContext(ctx, program).Run(); err != nil {
				return err
			}
			return os.WriteFile(response, nil, 0o600)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
