package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"torno/configs"
	"torno/internal/agent/installed"
	"torno/internal/cli"
	"torno/internal/serve"
	"torno/sandbox/compile"
)

// findAgent looks for the agent of --agent on this machine.
func (s *source) findAgent() (err error) {
	if s.agent == "" {
		if s.model != "" {
			return &cli.UsageError{Text: "--model goes with --agent", Next: "name the agent, as in --agent claude"}
		}
		return nil
	}
	s.found, err = installed.Find(s.agent, s.machine, s.local.Image != "")
	if err != nil {
		return &cli.UsageError{Text: err.Error(), Next: "watcher help run says what --agent needs"}
	}
	local := localAgent(s.found)
	local.Model = s.model
	s.local.Agent = &local
	return nil
}

// localAgent is an agent of this machine as a configuration needs it.
func localAgent(found installed.Agent) configs.LocalAgent {
	local := configs.LocalAgent{Name: found.Name, Command: found.Command, Route: found.Route}
	for _, place := range found.Places {
		local.Programs = append(local.Programs, compile.Programs{Host: place.Host, As: place.As})
	}
	return local
}

// keepKey puts the agent's key where the gateway reads it.
func (s *source) keepKey(c configs.Config) error { return keepKey(s.found, c) }

// keepKey puts a key where no child sees it and no other user can read it.
func keepKey(found installed.Agent, c configs.Config) error {
	if found.Key == "" {
		return nil
	}
	if err := serve.MakeState(c.State); err != nil {
		return err
	}
	path := c.KeyFile(found.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return placeFile(path, []byte(found.Key), 0o600, true)
}

// placeFile puts a whole file in its place. Where it may not replace what is there, the error is fs.ErrExist.
func placeFile(path string, text []byte, mode os.FileMode, replace bool) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(draft.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	_, err = draft.Write(text)
	err = errors.Join(err, draft.Chmod(mode), draft.Sync(), draft.Close())
	switch {
	case err != nil:
		return err
	case replace:
		return os.Rename(draft.Name(), path)
	}
	return os.Link(draft.Name(), path) // which replaces nothing
}
