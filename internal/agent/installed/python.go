package installed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"torno/internal/paths"
)

// interpreter finds the interpreter of a Python script. It stands in the script's first line. If its path is too long
// or has a space, installers write words for a shell there instead.
var interpreter = regexp.MustCompile(`^#!(?:\s*(/\S*/python[0-9.]*)\s*\n|/bin/sh\n'''exec' ["']?(/[^"'\n]*/python[0-9.]*)["']? )`)

// placePython sets where children find a Python script. They need the Python environment in which the script lies. They
// also need that environment's own Python, unless it is one of the system's. Both have paths written into them, so
// children find them at the same paths as on this machine.
func (a *Agent) placePython(script, install string) error {
	python, err := interpreterOf(script)
	if err != nil {
		return err
	}
	env := filepath.Dir(filepath.Dir(python))
	_, err = os.Stat(filepath.Join(env, "pyvenv.cfg"))
	if err == nil && !paths.Within(env, script) {
		err = errors.New("the script is not in it")
	}
	if err != nil {
		return fmt.Errorf("%s is started by %s, which does not belong to an environment of its own: %w; install it in one (%s), or name the program in a configuration (programs, command)", script, python, err, install)
	}
	a.Command, a.Places = []string{script}, []Place{{env, env}}
	base, err := leaving(env, python)
	if err != nil {
		return fmt.Errorf("the Python of %s cannot be found: %w; install it again (%s)", env, err, install)
	}
	if paths.Within("/usr", base) && !paths.Within("/usr/local", base) { // children see that anyway
		return nil
	}
	as := filepath.Dir(filepath.Dir(base))
	host, err := filepath.EvalSymlinks(as)
	if err != nil {
		return fmt.Errorf("the Python of %s cannot be found: %w; install it again (%s)", env, err, install)
	}
	a.Places = append(a.Places, Place{host, as})
	return nil
}

func interpreterOf(script string) (string, error) {
	file, err := os.Open(script)
	if err != nil {
		return "", err
	}
	defer file.Close()
	begins, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return "", err
	}
	found := interpreter.FindSubmatch(begins)
	if found == nil {
		return "", fmt.Errorf("%s is not a script for Python; name the program in a configuration (programs, command)", script)
	}
	return string(found[1]) + string(found[2]), nil
}

// mostLinks bounds how many links may lead to an interpreter.
const mostLinks = 16

// leaving follows links from path until one leads out of dir, and returns its target.
func leaving(dir, path string) (string, error) {
	for range mostLinks {
		if !paths.Within(dir, path) {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = filepath.Clean(to)
	}
	return "", fmt.Errorf("%s leads through too many links", path)
}
