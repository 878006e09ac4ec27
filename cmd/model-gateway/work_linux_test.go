package main

import (
	"errors"
	"testing"

	"torno/internal/gateway/budget"
	"torno/test/missing"
	"torno/test/work"
)

// TestARequestCostsTheKernelNoMore counts the system calls of the gateway and of its warden, from a request to the end of its answer. Ten
// requests go over one connection, as a client's do; the least of some such rounds counts.
func TestARequestCostsTheKernelNoMore(t *testing.T) {
	g := newPlace(t).withWarden()
	c := g.open("run", budget.Limits{})
	const each, rounds = 10, 15
	ask := func() {
		for range each {
			r, err := say(c, "hello", true)
			if status, body := whole(t, r, err); status != 200 {
				t.Fatalf("%d: %s", status, body)
			}
		}
	}
	ask()
	const what = "gateway: system calls of a request"
	least, most := 1<<30, work.Bound(t, what)
	for i := 0; i < rounds && least > most; i++ {
		var warden work.Calls
		var asked error
		gateway, err := work.Count(g.proper(), func() { warden, asked = work.Count(g.cmd.Process.Pid, ask) })
		if err := errors.Join(err, asked); errors.Is(err, work.ErrForbidden) {
			missing.Skip(t, err)
		} else if err != nil {
			t.Fatal(err)
		}
		if sum := (gateway.Sum() + warden.Sum()) / each; sum < least {
			least = sum
			t.Log("of ten requests, by their numbers: gateway", gateway, "warden", warden)
		}
	}
	work.Hold(t, what, least)
}
