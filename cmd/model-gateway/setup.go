package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/gateway/control"
	"torno/internal/gateway/setup"
	"torno/internal/gateway/upstreams"
)

// saidName is the file, in the state directory, of what a watcher said last. A gateway that is started again has its routes before
// it has a watcher.
const saidName = "setup.yaml"

// load reads the routes, from the operator's file or from what a watcher said last, and puts them into the place of those before.
func (s *serving) load() error {
	path := s.config
	if path == "" {
		path = filepath.Join(s.state, saidName)
	}
	text, err := setup.Read(path)
	if s.config == "" && errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return err
	}
	use, err := s.open(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	use()
	return nil
}

// open makes upstreams of a text. use has them in the place of those before; the lock is held then.
func (s *serving) open(text []byte) (use func(), err error) {
	said, err := setup.Parse(text)
	if err != nil {
		return nil, err
	}
	opened, err := upstreams.Open(said.Routes, s.known)
	if err != nil {
		return nil, err
	}
	return func() {
		s.g.Use(opened, said.Prices)
		s.text = text
	}, nil
}

func (s *serving) reload() {
	if err := s.load(); err != nil {
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

// Take puts what a watcher says into the place of what was there, after it was written down.
func (s *serving) Take(text []byte) error {
	if s.config != "" {
		return control.ErrOwnSetup
	}
	use, err := s.open(text)
	if err != nil {
		return fmt.Errorf("%w: %w", control.ErrSetup, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(text, s.text) {
		if err := write(s.state, saidName, text); err != nil {
			return fmt.Errorf("write the routes down: %w", err)
		}
	}
	use()
	s.log.Info("a watcher said the routes", "routes", s.g.Routes())
	return nil
}

// Stop ends the process as SIGTERM does.
func (s *serving) Stop() { s.stop() }

// write puts a file into a directory, whole or not at all, also where the power fails.
func write(dir, name string, text []byte) (err error) {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	above, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(above.Sync(), above.Close())
}
