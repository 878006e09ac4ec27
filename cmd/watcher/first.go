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

// pasteable adds a line to paste to the refusal of a start with --dir. The line starts the same command. If the user's
// own service manager can bound children, the line runs the command through it. Otherwise the line accepts that the
// missing limits are not enforced.
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

// accepting returns the arguments with one --accept for each limit, after the word run.
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

// delegates reports whether the user's own service manager can give control groups to a command. It has to be systemd,
// with version 2 of control groups.
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
