package budget

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAFirstRequestThatIsExpectedWaitsForNoDisk, and a power cut right behind it takes nothing of what was spent.
func TestAFirstRequestThatIsExpectedWaitsForNoDisk(t *testing.T) {
	for _, expected := range []bool{true, false} {
		disk := newTape()
		l, err := open(setting{disk: disk, dir: "dir", boot: "1", now: time.Now, least: compactAt})
		if err != nil {
			t.Fatal(err)
		}
		lasting, fresh := Claim{Scope: Scope{Tree, "t"}}, Claim{Scope: Scope{Run, "r"}}
		bound := Amount{Requests: 1, OutputTokens: 100, Money: 7}
		reserve(t, l, bound, lasting) // as other runs have before
		if expected {
			if err := l.Expect(fresh.Scope, bound); err != nil {
				t.Fatal(err)
			}
			if use := l.Use(fresh.Scope); use != (Use{}) {
				t.Errorf("what is expected costs %+v", use)
			}
		}
		before := disk.flushes
		reserve(t, l, bound, lasting, fresh)
		if flushes := disk.flushes - before; (flushes == 0) != expected {
			t.Errorf("expected: %v, and the first request waited for %d flushes", expected, flushes)
		}
		for seed := range uint64(200) {
			next, err := open(setting{disk: disk.afterPowerCut(rand.New(rand.NewPCG(seed, 1))), dir: "dir", boot: "2", now: time.Now, least: compactAt})
			if err != nil {
				t.Fatal(err)
			}
			if got := next.Use(fresh.Scope).Spent; got.Requests < 1 || got.OutputTokens < 100 || got.Money < 7 {
				t.Fatalf("after a power cut %+v were spent", got)
			}
		}
	}
}
