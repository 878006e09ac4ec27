package main

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"torno/configs"
	"torno/internal/agent/installed"
	"torno/internal/atomicfile"
	"torno/internal/cli"
	"torno/internal/serve"
	"torno/sandbox/compile"
)

// findAgent looks on this machine for the agent that --agent names.
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
	local.Model, local.KeyFile = s.model, s.keyFile
	s.local.Agent = &local
	return nil
}

// localAgent returns the facts about an installed agent that a configuration needs.
func localAgent(found installed.Agent) configs.LocalAgent {
	local := configs.LocalAgent{Name: found.Name, Command: found.Command, Route: found.Route}
	for _, place := range found.Places {
		local.Programs = append(local.Programs, compile.Programs{Host: place.Host, As: place.As})
	}
	return local
}

// forTrial writes the agent's key into a file for the trial and returns the configuration that names the file. It does
// not touch the key that a running watcher keeps, because that watcher's gateway may be reading it.
func (s *source) forTrial(args cli.Args, c configs.Config) (trial configs.Config, remove func() error, err error) {
	if s.found.Key == "" {
		return c, func() error { return nil }, nil
	}
	s.keyFile = c.KeyFile(s.found.Name + "-trial-" + rand.Text())
	var made []string
	for _, dir := range []string{filepath.Dir(s.keyFile), c.State} {
		if _, missing := os.Lstat(dir); missing != nil {
			made = append(made, dir)
		}
	}
	remove = func() error {
		err := os.Remove(s.keyFile)
		for _, dir := range made {
			_ = os.Remove(dir) // fails, and so keeps the directory, if something else lies in it by now
		}
		return err
	}
	if err := keepKey(s.found.Key, s.keyFile, c.State); err != nil {
		return c, nil, err
	}
	trial, _, err = s.load(args)
	if err != nil {
		return c, nil, errors.Join(err, remove())
	}
	return trial, remove, nil
}

// keepKey puts a key into a file in the state directory, where no child sees it and no other user can read it.
func keepKey(key, path, state string) error {
	if key == "" {
		return nil
	}
	if err := serve.MakeState(state); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return placeFile(path, []byte(key), 0o600, true)
}

// placeFile writes a whole file and renames it into place. Without replace it fails with fs.ErrExist if the name is
// taken.
func placeFile(path string, text []byte, mode os.FileMode, replace bool) (err error) {
	draft, err := atomicfile.Begin(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Drop()) }()
	_, err = draft.Write(text)
	err = errors.Join(err, draft.Chmod(mode))
	switch {
	case err != nil:
		return err
	case replace:
		return draft.Put(filepath.Base(path), atomicfile.Durable)
	}
	return draft.PutNew(filepath.Base(path), atomicfile.Durable)
}
