// Package service knows how to make a watcher a service of this machine: the file for systemd or launchd, the place of
// that file, and the commands for the service manager.
//
//	plan, err := service.For(service.Machine{System: "linux", User: true, Program: "/usr/bin/watcher", Config: …, Home: …})
//	err = plan.Put()                         // writes the file, unless a foreign one is there
//	for _, command := range plan.Start { … } // for the caller to run
//
// The package promises that it puts only plain paths into the file, and that it neither replaces nor removes a file
// that it did not make.
package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"torno/contrib"
	"torno/internal/atomicfile"
)

// Machine holds the facts that a plan depends on.
type Machine struct {
	System  string // the operating system, as in runtime.GOOS
	User    bool   // a service of one person, and not of the machine
	Program string // the absolute path of the watcher
	Config  string // the watcher's configuration; "" for the usual one
	Home    string
	UID     int
}

// Plan describes a service on one machine: its file, and commands for the service manager.
type Plan struct {
	Path   string // of the file
	Text   string // of the file
	Config string // the configuration that the service reads
	User   bool   // a service of one person
	Start  [][]string
	Stop   [][]string
	Forget [][]string // to run after the file has been removed
	Ask    []string   // shows the service's status
	Reason string     // a command that shows why the service does not start
}

// mark is a text in each file that this package made. It tells such a file from foreign ones.
const mark = "Made by `watcher service install`"

// plain matches paths that mean the same in a unit, in a property list and in a shell.
var plain = regexp.MustCompile(`^/[A-Za-z0-9_./@+,-]*$`)

// For returns the plan of a service for this machine.
func For(m Machine) (Plan, error) {
	for _, path := range []string{m.Program, m.Home, m.Config} {
		if path != "" && !plain.MatchString(path) {
			return Plan{}, fmt.Errorf("%q cannot be written into a service file: only letters, digits and _./@+,- are allowed", path)
		}
	}
	switch {
	case m.System == "darwin":
		return launchd(m)
	case m.System != "linux":
		return Plan{}, fmt.Errorf("services can be installed with systemd or launchd, but this is %s", m.System)
	case m.User:
		return user(m)
	}
	return system(m)
}

// The name of the unit, and the paths of program and configuration in the units of contrib.
const (
	unit         = "torno-watcher.service"
	contribDir   = "/usr/local/bin/watcher"
	systemConfig = "/etc/torno/watcher.yaml"
	userConfig   = ".config/torno/watcher.yaml"
)

func system(m Machine) (Plan, error) {
	text, err := read("systemd/"+unit, "# "+mark+"\n", contribDir, m.Program, systemConfig, or(m.Config, systemConfig))
	return Plan{
		Path: "/etc/systemd/system/" + unit, Text: text, Config: or(m.Config, systemConfig),
		Start:  [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--now", unit}},
		Stop:   [][]string{{"systemctl", "disable", "--now", unit}},
		Forget: [][]string{{"systemctl", "daemon-reload"}},
		Ask:    []string{"systemctl", "status", "--no-pager", unit},
		Reason: "journalctl -n 20 -u torno-watcher",
	}, err
}

func user(m Machine) (Plan, error) {
	config := or(m.Config, filepath.Join(m.Home, userConfig))
	text, err := read("systemd/user/"+unit, "# "+mark+"\n", contribDir, m.Program, "%h/"+userConfig, config)
	return Plan{
		Path: filepath.Join(m.Home, ".config/systemd/user", unit), Text: text, Config: config, User: true,
		Start:  [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", unit}},
		Stop:   [][]string{{"systemctl", "--user", "disable", "--now", unit}},
		Forget: [][]string{{"systemctl", "--user", "daemon-reload"}},
		Ask:    []string{"systemctl", "--user", "status", "--no-pager", unit},
		Reason: "journalctl --user -n 20 -u torno-watcher",
	}, err
}

// launchd returns the plan for a Mac. The watcher lives in a Linux machine there, and the service only keeps that
// machine up.
func launchd(m Machine) (Plan, error) {
	const label = "dev.torno.vm"
	text, err := read("launchd/"+label+".plist", "", "/Users/me", m.Home)
	text = strings.Replace(text, "<plist version", "<!-- "+mark+" -->\n<plist version", 1)
	path := filepath.Join(m.Home, "Library/LaunchAgents", label+".plist")
	domain := fmt.Sprintf("gui/%d", m.UID)
	return Plan{
		Path: path, Text: text,
		Start:  [][]string{{"launchctl", "bootstrap", domain, path}},
		Stop:   [][]string{{"launchctl", "bootout", domain + "/" + label}},
		Ask:    []string{"launchctl", "print", domain + "/" + label},
		Reason: "launchctl print " + domain + "/" + label,
	}, err
}

func or(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// read returns a file of contrib after a head, with words replaced. replaced holds pairs of old and new words.
func read(name, head string, replaced ...string) (string, error) {
	text, err := contrib.Services.ReadFile(name)
	return head + strings.NewReplacer(replaced...).Replace(string(text)), err
}

// ErrForeign means that the file is there, but was not made by this package.
var ErrForeign = errors.New("was not made by `watcher service install`")

// Put writes the file, and reports whether its content has changed.
func (p Plan) Put() (changed bool, err error) {
	earlier, err := p.ours()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	case err == nil && string(earlier) == p.Text:
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return false, err
	}
	err = atomicfile.Write(p.Path, []byte(p.Text), 0o644, atomicfile.Durable)
	return err == nil, err
}

// Remove removes the file, unless it is foreign.
func (p Plan) Remove() error {
	if _, err := p.ours(); err != nil {
		return err
	}
	return os.Remove(p.Path)
}

// State returns the state of the file: "current", "outdated" if it differs from the plan, or "missing".
func (p Plan) State() (string, error) {
	there, err := p.ours()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", nil
	case err != nil:
		return "", err
	case string(there) == p.Text:
		return "current", nil
	}
	return "outdated", nil
}

// ours returns the content of the file, or ErrForeign if this package did not make it.
func (p Plan) ours() ([]byte, error) {
	info, err := os.Lstat(p.Path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %w", p.Path, ErrForeign)
	}
	text, err := os.ReadFile(p.Path)
	if err == nil && !bytes.Contains(text, []byte(mark)) {
		err = fmt.Errorf("%s %w", p.Path, ErrForeign)
	}
	return text, err
}
