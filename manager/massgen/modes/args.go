package modes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torno/internal/paths"
)

// Files reads a file of settings by its path, up to a bound.
type Files func(path string) ([]byte, error)

// Parse reads the argv of MassGen's server. No option is required: without --workspace-path the workspace is the
// directory work. The warnings are for the log.
func Parse(args []string, work string, files Files) (Settings, []string, error) {
	all := args
	p := parser{settings: defaults(), files: files, agentsWrite: func(path string) bool { return AgentsWrite(all, work, path) }}
	p.settings.Workspace = work
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		set, known := p.options()[name]
		if !known {
			return Settings{}, nil, fmt.Errorf("%s is no option of MassGen's server of subagents", name)
		}
		if !joined {
			if len(args) == 0 {
				return Settings{}, nil, fmt.Errorf("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if err := set(value); err != nil {
			return Settings{}, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, path := range []string{p.settings.Workspace, p.settings.Temp, p.settings.Logs} {
		if path != "" && !filepath.IsAbs(path) {
			return Settings{}, nil, fmt.Errorf("the path %q is not absolute", path)
		}
	}
	warnings, err := p.settings.check()
	return p.settings, append(p.warnings, warnings...), err
}

// These options name directories: TempOption the directory of the peers' workspaces, workspaceOption the agent's own
// workspace.
const (
	TempOption      = "--agent-temporary-workspace"
	workspaceOption = "--workspace-path"
)

// Value returns the value that an argv gives to an option, or "".
func Value(args []string, option string) (given string) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		if name == option {
			given = value
		}
	}
	return given
}

// AgentsWrite reports whether a path of an argv leads below a directory where agents write: the workspace, or the
// directory of the peers' workspaces.
func AgentsWrite(args []string, work, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(work, path)
	}
	return slices.ContainsFunc([]string{cmp.Or(Value(args, workspaceOption), work), Value(args, TempOption)}, func(dir string) bool {
		return dir != "" && paths.Within(filepath.Clean(dir), filepath.Clean(path))
	})
}

type parser struct {
	settings Settings
	warnings []string
	files    Files
	// agentsWrite reports whether a path leads below a directory where agents write.
	agentsWrite func(path string) bool
}

// options returns a setter for each of MassGen's options, and for --profile, which is ours.
func (p *parser) options() map[string]func(string) error {
	s := &p.settings
	return map[string]func(string) error{
		"--agent-id": text(&s.AgentID), "--orchestrator-id": text(&s.OrchestratorID), workspaceOption: text(&s.Workspace),
		TempOption: text(&s.Temp), "--log-directory": text(&s.Logs), "--profile": text(&s.Profile),
		"--max-concurrent": number(&s.MaxConcurrent), "--default-timeout": number(&s.Default), "--min-timeout": number(&s.Min), "--max-timeout": number(&s.Max),
		"--runtime-mode": text((*string)(&s.Mode)), "--runtime-fallback-mode": text((*string)(&s.Fallback)),
		"--host-launch-prefix":       p.prefix,
		"--agent-configs-file":       p.file(p.agentConfigs),
		"--orchestrator-config":      func(value string) error { return p.orchestrator([]byte(value)) },
		"--orchestrator-config-file": p.file(p.orchestrator),
		"--context-paths-file":       p.file(p.contextPaths),
		"--coordination-config-file": p.coordinationFile,
		"--delegation-directory":     text(&s.Outbox),
		"--hook-dir":                 func(string) error { return nil }, // results come with the answers of tools
	}
}

func text(into *string) func(string) error {
	return func(value string) error { *into = value; return nil }
}

func number(into *int) func(string) error {
	return func(value string) (err error) {
		if *into, err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("%.50q is not a whole number", value)
		}
		return nil
	}
}

// prefix parses a JSON list of texts.
func (p *parser) prefix(value string) error {
	if err := json.Unmarshal([]byte(value), &p.settings.Prefix); err != nil {
		return errors.Join(refusal("subagent_host_launch_prefix must contain only non-empty string tokens"), err)
	}
	return nil
}

// file returns a setter that reads the named file and parses its content.
func (p *parser) file(parse func([]byte) error) func(string) error {
	return func(path string) error {
		if path == "" {
			return nil
		}
		data, err := p.files(path)
		if err != nil {
			return err
		}
		return parse(data)
	}
}
