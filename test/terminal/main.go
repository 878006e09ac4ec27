// Package main makes the moving terminal of the README from a session that took place:
//
//	go run ./test/terminal record bin > test/terminal/session.jsonl    # on Linux, as root: types session.sh, on gVisor
//	go run ./test/terminal draw > docs/terminal.svg                    # anywhere: what was recorded, as a picture
//
// Typing is drawn at one speed, and each answer with the times at which it came. The picture needs no script and no network; where
// pictures do not move, or the reader wants none that do, it shows the end of the session.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

const (
	script    = "test/terminal/session.sh"
	recording = "test/terminal/session.jsonl"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(os.Args[1:], out)
	if err := errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(args []string, out *bufio.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "record":
		lines, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		return record(string(lines), args[1], out)
	case len(args) == 1 && args[0] == "draw":
		file, err := os.Open(recording)
		if err != nil {
			return err
		}
		defer file.Close()
		session, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", recording, err)
		}
		picture, err := draw(session)
		if err != nil {
			return fmt.Errorf("%s: %w", recording, err)
		}
		_, err = out.WriteString(picture)
		return err
	}
	return errors.New("say record PROGRAMS or draw, in the project's directory")
}
