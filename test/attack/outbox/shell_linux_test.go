package outbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	"torno/delegation"
)

// also asks for something more in the name of this scene, and returns its id.
func (s *scene) also(name string, changed says) string {
	s.Helper()
	other := *s
	other.id = s.id + "-" + name
	other.submit(changed)
	return other.id
}

// response waits for an answer by its id.
func (s *scene) response(id string) delegation.Response {
	s.Helper()
	other := *s
	other.id = id
	return other.answer()
}

// takenForAnOption passes a text to a program as it is: its second argument becomes an option of that program.
func takenForAnOption(*scene) bool {
	out, err := exec.Command("/bin/sh", "-c", `/bin/echo "$@"`, "sh", "-n", "text").Output()
	return err == nil && strings.TrimRight(string(out), "\n") == string(out)
}

// peek decodes a file of the outbox, if it is there.
func (s *scene) peek(name string, into any) bool {
	data, err := os.ReadFile(s.Path(name))
	return err == nil && json.Unmarshal(data, into) == nil
}
