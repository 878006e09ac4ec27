package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/cli"
	"torno/internal/doctor"
)

// pasteable adds to the refusal of a start with --dir the one line with which the same command starts: as the user's own
// service manager runs it, where that can bound children, and otherwise without the limits that cannot be had here.
func (a *app) pasteable(err error) error {
	refused, ok := errors.AsType[*doctor.RefusedError](err)
	if !ok || a.source.local.Dir == "" || a.words == nil {
		return err
	}
	limits := refused.Accepting()
	if limits == nil {
		return err
	}
	again := "watcher " + strings.Join(quoted(a.words), " ")
	if a.machine.delegates(a.Env) {
		return cli.Hint(err, "systemd-run --user --scope -p Delegate=yes "+again)
	}
	return cli.Hint(err, "watcher "+strings.Join(quoted(accepting(a.words, limits)), " "))
}

// accepting are the arguments with --accept for each of some limits behind the command's name.
func accepting(args, limits []string) []string {
	var accept []string
	for _, limit := range limits {
		if !slices.Contains(accept, limit) {
			accept = append(accept, "--accept", limit)
		}
	}
	at := slices.Index(args, "run") + 1
	return slices.Concat(args[:at], accept, args[at:])
}

func quoted(args []string) []string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = cli.ShellWord(arg)
	}
	return words
}

// delegates says whether the user's own service manager can give a command control groups: systemd, with version 2 of them.
func (m machine) delegates(env func(string) string) bool {
	runtime := env("XDG_RUNTIME_DIR")
	if m.root || runtime == "" {
		return false
	}
	for _, path := range []string{filepath.Join(m.cgroups, "cgroup.controllers"), filepath.Join(runtime, "systemd", "private")} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	_, err := exec.LookPath("systemd-run")
	return err == nil
}
