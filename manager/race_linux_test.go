package manager

import (
	"os"
	"strings"
	"testing"

	"torno/test/swap"

	"torno/internal/beneath"
	"torno/test/attack"
)

// The answer is exchanged with a second name of the parent's key while it is read, many thousand times. Between a look at
// a name and an open of it there is always time for that: a reader that looks, opens and does not compare is the oracle.
func TestAnswerIsWhatWasLookedAt(t *testing.T) {
	const secret = "the parent's key"
	h := newHost(t)
	run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
	run.atRequest.answer = nil
	answer, key := run.Workspace()+"/answer.txt", h.join("key")
	write(t, answer, "mine")
	write(t, key, secret)
	must(0, os.Link(key, h.join("second")))
	defer swap.Names(t, [2]string{answer, h.join("second")})()

	trial := attack.Trial{Row: "W5", Where: "manager, one read after the other"}
	own := 0
	for limit := attack.Times(6_000, 1_000_000); trial.Tried < limit || !trial.Oracle && trial.Tried < 50*limit; trial.Tried++ {
		if found, err := run.findAnswer(run.m.answerMax); strings.Contains(string(found.text)+string(found.end), secret) {
			t.Fatalf("it read %q, %v", found.text, err)
		} else if string(found.text) == "mine" {
			own++
		}
		trial.Oracle = trial.Oracle || lookedOnly(answer) == secret
		trial.Held++
	}
	if own == 0 {
		t.Error("it never read its own answer: nothing was at stake")
	}
	attack.Record(t, trial)
}

// lookedOnly reads a file that had one name when it was looked at.
func lookedOnly(path string) string {
	info, err := os.Lstat(path)
	if err != nil || beneath.CheckPlain(info) != nil {
		return ""
	}
	data, _ := os.ReadFile(path) // nothing is nothing read
	return string(data)
}
