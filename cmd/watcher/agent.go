package main

import (
	"errors"
	"os"
	"path/filepath"

	"torno/configs"
	"torno/internal/agent/installed"
	"torno/internal/cli"
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
	local := configs.LocalAgent{Name: s.agent, Model: s.model, Command: s.found.Command, Route: s.found.Route}
	for _, place := range s.found.Places {
		local.Programs = append(local.Programs, compile.Programs{Host: place.Host, As: place.As})
	}
	s.local.Agent = &local
	return nil
}

// keepKey puts the agent's key where the gateway reads it, which no child sees and no other user can read.
func (s *source) keepKey(c configs.Config) error {
	if s.found.Key == "" {
		return nil
	}
	path := c.KeyFile(s.found.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return err
	}
	_, err = file.WriteString(s.found.Key)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
