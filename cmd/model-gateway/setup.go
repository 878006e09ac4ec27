package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"torno/internal/gateway/control"
	"torno/internal/gateway/setup"
	"torno/internal/gateway/upstreams"
)

// load reads the routes, and replaces the current ones. They come from the operator's file, or else are the watcher's
// most recent ones.
func (s *serving) load(ctx context.Context) error {
	text, path, err := s.said(ctx)
	if err != nil {
		return err
	}
	use, err := s.open(ctx, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	use()
	return nil
}

// said returns the text of routes and prices, and the file that holds it. Because of that file, a restarted gateway has
// routes even before a watcher connects.
func (s *serving) said(ctx context.Context) (text []byte, path string, err error) {
	path = filepath.Join(s.state, setup.FileName)
	switch {
	case s.access != nil:
		text, err = s.access.Setup(ctx)
		return text, path, err
	case s.config != "":
		text, err = setup.Read(s.config)
		return text, s.config, err
	}
	text, err = setup.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	return text, path, err
}

// open makes upstreams from a text. use puts them in place of the current ones; the caller of use holds the lock.
func (s *serving) open(ctx context.Context, text []byte) (use func(), err error) {
	said, err := setup.Parse(text)
	if err != nil {
		return nil, err
	}
	opened, err := upstreams.Open(ctx, said.Routes, s.known, s.access)
	if err != nil {
		return nil, err
	}
	return func() {
		s.g.Use(opened, said.Prices)
		s.text = text
	}, nil
}

func (s *serving) reload(ctx context.Context) {
	if err := s.load(ctx); err != nil {
		s.log.Error("the new configuration cannot be used; the gateway goes on with the one before", "error", err)
		return
	}
	s.log.Info("the configuration was read again", "routes", s.g.Routes())
}

// Digest identifies the routes and prices in use.
func (s *serving) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return control.Digest(s.text)
}

// Take replaces the routes and prices with a watcher's. It writes them down first. But if a warden reads the
// credentials, the watcher has written them down itself, because this process must not decide which files the warden
// may read.
func (s *serving) Take(text []byte) error {
	if s.config != "" {
		return control.ErrOwnSetup
	}
	use, err := s.open(context.Background(), text) // the opened sources outlive this call
	if err != nil {
		return fmt.Errorf("%w: %w", control.ErrSetup, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.access == nil && !bytes.Equal(text, s.text) {
		if err := setup.Write(s.state, text); err != nil {
			return fmt.Errorf("write the routes down: %w", err)
		}
	}
	use()
	s.log.Info("a watcher gave the routes", "routes", s.g.Routes())
	return nil
}

// Stop makes the process end as SIGTERM does.
func (s *serving) Stop() { s.stop() }
