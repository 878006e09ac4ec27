package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	gatewaycontrol "torno/internal/gateway/control"
	"torno/test/upstream/standin"
)

// openModel has a stand-in for a model's upstream listen on this machine. Only the host has its key.
func (s *stage) openModel(context.Context) error {
	key := "sk-demo-" + rand.Text()
	if err := os.WriteFile(s.path("key"), []byte(key), 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.model = &http.Server{Handler: standin.New(key), ReadHeaderTimeout: time.Minute}
	go s.model.Serve(listener)
	return os.WriteFile(s.path("watcher.yaml"), fmt.Appendf(nil, `version: 1
state: %[1]s/state
profiles:
  default: {sandbox: auto, rootfs: host}
  talks: {sandbox: auto, rootfs: host, routes: [model], budget: {run: {requests: 10}}}
outboxes:
  demo: {dir: %[2]s, allow: [%[2]s/workspaces], read_allowed: true, profiles: [default, talks]}
gateway:
  routes: {model: {preset: anthropic, upstream: "http://%[3]s", http_to: 127.0.0.1, private: true, credential: {file: %[1]s/key}}}
  prices: {model: {"*": {input: 5, output: 25}}}
`, s.dir, s.outbox, listener.Addr()), 0o600)
}

// closeModel ends the stand-in, and waits until the gateway has gone, which the purge has told to.
func (s *stage) closeModel(ctx context.Context) error {
	if s.model != nil {
		s.model.Close()
	}
	for s.gateway != 0 {
		line, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(s.gateway), "cmdline"))
		if err != nil || len(line) == 0 {
			return nil //nolint:nilerr // it has gone
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the model gateway goes on: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// findGateway notes which process the gateway is.
func (s *stage) findGateway(ctx context.Context) error {
	client := gatewaycontrol.Dial(s.path("state/gateway"))
	defer client.Close()
	status, err := client.Status(ctx)
	s.gateway = status.Process
	return err
}

// bill shows what the talker has spent, and what the gateway added for it.
func (s *stage) bill(ctx context.Context) error {
	run, err := s.door.Run(ctx, talker)
	if err != nil {
		return err
	}
	if run.Usage == nil || run.Usage.Model == nil || run.Usage.Model.Requests != 2 {
		return fmt.Errorf("the talker had to spend two requests, and spent %+v", run.Usage)
	}
	m := run.Usage.Model
	s.say("  The talker spent %d requests, %d tokens in and %d out, %s in money. Its key stayed on the host.", m.Requests, m.InputTokens, m.OutputTokens, m.Money)
	return nil
}
