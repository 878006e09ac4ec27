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

// load reads the routes, from the operator's file or from what a watcher said last, and puts them into the place of those before.
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

// said is the text of routes and prices, and the file that has it. A gateway that is started again has its routes before it has a watcher.
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

// open makes upstreams of a text. use has them in the place of those before; the lock is held then.
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
		s.log.Error("the configuration is not understood; the one before goes on", "error", err)
		return
	}
	s.log.Info("the configuration was read again", "routes", s.g.Routes())
}

// Digest stands for what counts now.
func (s *serving) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return control.Digest(s.text)
}

// Take puts what a watcher says into the place of what was there, after it was written down. Where a warden reads the credentials, the
// watcher has written it down itself: what the warden may read is not for this process to say.
func (s *serving) Take(text []byte) error {
	if s.config != "" {
		return control.ErrOwnSetup
	}
	use, err := s.open(context.Background(), text) // what it opens lasts longer than this call
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
	s.log.Info("a watcher said the routes", "routes", s.g.Routes())
	return nil
}

// Stop ends the process as SIGTERM does.
func (s *serving) Stop() { s.stop() }
