// Lay is a keeper as far as package lay goes: it lays the plan of its first argument, and then runs the script of its
// second one on it, in the slot.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"torno/sandbox/local/lay"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		if errors.Is(err, lay.ErrNoNamespace) {
			fmt.Print("no namespace: ")
		}
		fmt.Print(err)
		os.Exit(1)
	}
}

func run(text, script string) error {
	var plan lay.Plan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return err
	}
	if err := plan.Lay(3); err != nil {
		return err
	}
	command := exec.Command("/bin/sh", "-c", script)
	command.Dir, command.Stdout, command.Stderr = filepath.Join(plan.Slots, fmt.Sprint(plan.Slot)), os.Stdout, os.Stdout
	return command.Run()
}
