package follow

import (
	"context"
	"strings"
	"testing"

	"torno/internal/cgroups"
	"torno/sandbox"
	"torno/sandbox/gvisor/keeper"
)

// TestExits: only an end that no keeper has seen is unknown. A child that finds a flaw in gVisor's kernel ends that whenever it
// likes, and must not be attempted again for it.
func TestExits(t *testing.T) {
	for _, test := range []struct {
		what string
		end  keeper.End
		code int
		why  string
	}{
		{"success", keeper.End{Started: true, Code: 254}, 0, ""},
		{"the agent's code", keeper.End{Started: true, Code: 2}, 2, ""},
		{"the agent's code, after a word of gVisor's", keeper.End{Started: true, Code: 3, Trouble: "a warning"}, 3, ""},
		{"success, after a word of gVisor's", keeper.End{Started: true, Code: 254, Trouble: "a warning"}, 0, ""},
		{"killed as asked", keeper.End{Started: true, Signal: 9, Asked: true}, 137, ""},
		{"out of memory", keeper.End{Started: true, Signal: 9, Use: cgroups.Use{Killed: 1}}, 137, ""},
		{"killed by somebody", keeper.End{Started: true, Signal: 9}, 137, "was killed by signal 9"},
		{"killed by its own filter", keeper.End{Started: true, Signal: 31}, 159, "was killed by signal 31"},
		{"a panic", keeper.End{Started: true, Code: 2, Trouble: "panic: a flaw"}, 134, "broke down, and with it all processes of the sandbox: panic: a flaw"},
		{"gVisor gives up", keeper.End{Started: true, Code: 128, Trouble: "a sentence"}, 134, "broke down"},
	} {
		exit := ExitOf(test.end)
		if exit.Unknown || exit.Code != test.code || !strings.Contains(exit.Why, test.why) || (exit.Why == "") != (test.why == "") {
			t.Errorf("%s: %+v", test.what, exit)
		}
	}
	for _, end := range []keeper.End{{Trouble: "no sandbox"}, {Signal: 9, Asked: true}, {Started: true, Code: 0}} {
		if exit := ExitOf(end); !exit.Unknown {
			t.Errorf("%+v: %+v", end, exit)
		}
	}
}

// TestAnEndThatWasToldCounts although it was not written down. Of a keeper that was killed, and told nothing, the launcher knows more.
func TestAnEndThatWasToldCounts(t *testing.T) {
	pumped := make(chan struct{})
	close(pumped)
	lost := sandbox.Exit{Unknown: true}
	for told, want := range map[*keeper.End]sandbox.Exit{nil: lost, {Started: true, Code: 3}: {Code: 3}} {
		a := &attachment{open: t.Context(), pumped: pumped, told: told}
		a.Lost = func(context.Context) (sandbox.Exit, error) { return lost, nil }
		if exit, err := a.withoutEnd(); err != nil || exit != want {
			t.Errorf("%+v: %+v, %v", told, exit, err)
		}
	}
}
