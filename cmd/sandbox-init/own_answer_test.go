//go:build linux

package main_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestTheAgentsOwnAnswerStays: what the agent wrote into its answer file is its answer, whatever it prints besides.
func TestTheAgentsOwnAnswerStays(t *testing.T) {
	tests := map[string]struct {
		before string // an answer of an earlier run
		script string
		answer string
		holds  []string
	}{
		"written":             {"", "echo mine >answer.txt; echo chatter", "mine\n", []string{"answer.txt"}},
		"empty":               {"", ": >answer.txt; echo chatter", "", []string{"answer.txt"}},
		"more than fits":      {"", "echo mine >answer.txt; head -c 300000 /dev/zero", "mine\n", []string{"answer.txt"}},
		"after an earlier":    {"old", "echo mine >answer.txt; echo chatter", "mine\n", []string{"answer.txt", "answer.txt.previous"}},
		"renamed into place":  {"", "echo mine >a; mv a answer.txt; echo chatter", "mine\n", []string{"answer.txt"}},
		"the earlier is back": {"old", "mv answer.txt.previous answer.txt; echo chatter", "old", []string{"answer.txt"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.script).answer(100)
			if test.before != "" {
				b.plant(t, "answer.txt", test.before)
			}
			b.run(t).exits(t, 0)
			if got := b.read(t, "answer.txt"); got != test.answer {
				t.Errorf("the answer is %.40q, not %q", got, test.answer)
			}
			b.holds(t, test.holds...)
		})
	}
}

// TestAnAnswerThatCouldNotBeMovedAside: the answer of an earlier run does not count as this agent's answer.
func TestAnAnswerThatCouldNotBeMovedAside(t *testing.T) {
	for name, test := range map[string]struct{ script, answer, says string }{
		"it stays":               {"echo printed", "", "a directory has its name"},
		"the agent replaces it":  {"rmdir answer.txt; echo mine >answer.txt; echo printed", "mine\n", "a directory has its name"},
		"the agent takes it off": {"rmdir answer.txt; echo printed", "printed\n", "a directory has its name"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.script).answer(100)
			if err := os.Mkdir(b.in("answer.txt"), 0o777); err != nil {
				t.Fatal(err)
			}
			if said := b.run(t).agentSaid(t); !strings.Contains(said, test.says) {
				t.Errorf("said %q", said)
			}
			if data, err := os.ReadFile(b.in("answer.txt")); string(data) != test.answer || (err != nil) != (test.answer == "") {
				t.Errorf("the answer is %q (%v), not %q", data, err, test.answer)
			}
		})
	}
}

// TestWhatIsNoAnswer is replaced by the standard output, and a line says so.
func TestWhatIsNoAnswer(t *testing.T) {
	for name, script := range map[string]string{
		"a link":          "echo mine >there; ln -s there answer.txt",
		"a second name":   "echo mine >there; ln there answer.txt",
		"a FIFO":          "echo mine >there; mkfifo answer.txt",
		"a link that led": "ln -s nowhere answer.txt; echo mine >there",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, script+"; echo printed").answer(100)
			said := b.run(t).agentSaid(t)
			if want := "torno-init: the agent left an unusable answer at \"/srv/ws/answer.txt\", "; !strings.HasPrefix(said, want) {
				t.Errorf("said %q", said)
			}
			if b.read(t, "answer.txt") != "printed\n" || b.read(t, "there") != "mine\n" {
				t.Error("the answer is not what was printed, or what the agent wrote elsewhere is gone")
			}
		})
	}
}

// TestAnAnswerOverItsLimitIsWholeBesideIt: nothing that was printed is lost.
func TestAnAnswerOverItsLimitIsWholeBesideIt(t *testing.T) {
	const script = "i=0; while [ $i -lt 30000 ]; do echo line $i; i=$((i+1)); done"
	whole := newBox(t, script).run(t).stdout
	for _, limit := range []int{1, 4096, 100_000, len(whole) - 1, len(whole)} {
		b := newBox(t, script).answer(int64(limit))
		b.plant(t, "answer.txt.whole", "of an earlier run")
		r := b.run(t)
		said := r.agentSaid(t)
		if r.stdout != whole || b.read(t, "answer.txt") != whole[:limit] || b.read(t, "answer.txt.whole.previous") != "of an earlier run" {
			t.Errorf("limit %d: %d bytes of %d came out, the answer has %d", limit, len(r.stdout), len(whole), len(b.read(t, "answer.txt")))
		}
		if limit == len(whole) {
			b.holds(t, "answer.txt", "answer.txt.whole.previous")
			continue
		}
		if b.read(t, "answer.txt.whole") != whole || !strings.Contains(said, `are in "/srv/ws/answer.txt.whole"`) {
			t.Errorf("limit %d: %d bytes beside the answer, said %q", limit, len(b.read(t, "answer.txt.whole")), said)
		}
		info, err := os.Lstat(b.in("answer.txt.whole"))
		if err != nil {
			t.Fatal(err)
		}
		if stat := info.Sys().(*syscall.Stat_t); info.Mode() != 0o644 || int(stat.Uid) != b.plan.UID {
			t.Errorf("mode %v, uid %d", info.Mode(), stat.Uid)
		}
	}
}

// TestTheWholeLeadsNowhere plants links and files where the whole goes, while the agent runs.
func TestTheWholeLeadsNowhere(t *testing.T) {
	elsewhere := t.TempDir() + "/precious"
	if err := os.WriteFile(elsewhere, []byte("precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(elsewhere, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]string{
		"a link": "ln -s " + elsewhere + " answer.txt.whole", "a second name": "echo mine >there; ln there answer.txt.whole",
		"a FIFO": "mkfifo answer.txt.whole",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, plant+"; head -c 300000 /dev/zero").answer(1000)
			r := b.run(t)
			if len(r.stdout) != 300_000 || len(b.read(t, "answer.txt")) != 1000 || len(b.read(t, "answer.txt.whole")) != 300_000 {
				t.Errorf("said %q", r.agentSaid(t))
			}
			if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "precious" {
				t.Errorf("behind the link is %q (%v)", data, err)
			}
		})
	}
}

// TestTheWholeHasTheRunsLimits: where it does not fit, the run goes on, the answer is written, and what is missing is said.
func TestTheWholeHasTheRunsLimits(t *testing.T) {
	const script = "head -c 300000 /dev/zero; exit 7"
	for name, test := range map[string]struct {
		change func(*testing.T, *box)
		script string
		says   string
	}{
		"a full disk":           {smallDisk, script, "no space left on device"},
		"a limit of file sizes": {smallFiles, script, "file too large"},
		"a directory":           {nil, "mkdir answer.txt.whole; " + script, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.script).answer(800)
			if test.change != nil {
				test.change(t, b)
			}
			r := b.run(t)
			said := r.agentSaid(t)
			if !strings.HasPrefix(said, "torno-init: the answer was cut at 800 bytes; ") || !strings.Contains(said, test.says) {
				t.Errorf("said %q", said)
			}
			if len(r.stdout) != 300_000 || r.status.ExitStatus() != 7 || len(b.read(t, "answer.txt")) != 800 {
				t.Errorf("status %#x, %d bytes came out, %d are the answer", r.status, len(r.stdout), len(b.read(t, "answer.txt")))
			}
		})
	}
}
