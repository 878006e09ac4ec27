// Package service knows how a watcher becomes a service of this machine: which file says so to systemd or launchd, where that
// file goes, and what the manager is told.
//
//	plan, err := service.For(service.Machine{System: "linux", User: true, Program: "/usr/bin/watcher", Config: …, Home: …})
//	err = plan.Put()                         // the file, unless one lies there that is not ours
//	for _, command := range plan.Start { … } // for the caller to run
//
// It promises that nothing but a plain path gets into the file, and that a file which it did not make is neither replaced nor removed.
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

// Machine is what a plan depends on.
type Machine struct {
	System  string // as runtime.GOOS says it
	User    bool   // a service of one person
	Program string // the watcher, by an absolute path
	Config  string // its configuration; "" for the usual one
	Home    string
	UID     int
}

// Plan is a service on one machine.
type Plan struct {
	Path   string // of the file
	Text   string // of the file
	Config string // that the service reads
	User   bool   // it is a service of one person
	Start  [][]string
	Stop   [][]string
	Forget [][]string // behind the removal of the file
	Ask    []string   // what the manager says of it
	Reason string     // a command that says why it does not start
}

// mark is in each file that we made, and tells ours from others.
const mark = "Made by `watcher service install`"

// plain are paths that mean the same to a unit, to a property list and to a shell.
var plain = regexp.MustCompile(`^/[A-Za-z0-9_./@+,-]*$`)

// For plans the service of a machine.
func For(m Machine) (Plan, error) {
	for _, path := range []string{m.Program, m.Home, m.Config} {
		if path != "" && !plain.MatchString(path) {
			return Plan{}, fmt.Errorf("%q cannot stand in the file of a service: only letters, digits and _./@+,- can", path)
		}
	}
	switch {
	case m.System == "darwin":
		return launchd(m)
	case m.System != "linux":
		return Plan{}, fmt.Errorf("services are installed with systemd or launchd, and this is %s", m.System)
	case m.User:
		return user(m)
	}
	return system(m)
}

// The name of the unit, and where the units of contrib think programs and configuration are.
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

// launchd keeps the Linux machine up in which the watcher lives: on a Mac nothing else is for it to do.
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

// read is a file of contrib behind a head, with words replaced.
func read(name, head string, replaced ...string) (string, error) {
	text, err := contrib.Services.ReadFile(name)
	return head + strings.NewReplacer(replaced...).Replace(string(text)), err
}

// ErrForeign says that a file is there that we did not make.
var ErrForeign = errors.New("was not made by `watcher service install`")

// Put writes the file, and says whether it is another one than before.
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
	err = atomicfile.Write(p.Path, []byte(p.Text), 0o644)
	return err == nil, err
}

// Remove removes the file.
func (p Plan) Remove() error {
	if _, err := p.ours(); err != nil {
		return err
	}
	return os.Remove(p.Path)
}

// State says of the file: "current", "outdated" for one of another version, or "missing".
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

// ours is what the file holds, if it is one of ours.
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
