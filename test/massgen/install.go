package massgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Install puts a program where people have MassGen: into an environment of Python's, in which a script with its interpreter's path in
// the first line starts it. It returns the script's path.
func Install(dir, program string) (script string, err error) {
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("python3 makes no environment: %w\n%s", err, out)
	}
	inside := filepath.Join(dir, "lib", "standin")
	if err := copyFile(inside, program); err != nil {
		return "", err
	}
	script = filepath.Join(dir, "bin", "massgen")
	text := fmt.Sprintf("#!%s/bin/python\nimport os, sys\nassert sys.prefix == %q, sys.prefix\nos.execv(%q, [%q] + sys.argv[1:])\n", dir, dir, inside, "massgen")
	return script, os.WriteFile(script, []byte(text), 0o755)
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
