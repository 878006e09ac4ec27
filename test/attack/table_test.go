package attack

import (
	"strings"
	"testing"
)

func TestTheTable(t *testing.T) {
	page := Page{Rows: []Row{
		{ID: "O1", Attack: "a request that is a link", Verdict: Held},
		{ID: "M1", Attack: "a race", Verdict: Held},
		{ID: "C1", Attack: "a way out", Verdict: Held},
		{ID: "N1", Attack: "the kernel", Verdict: Open},
	}}
	good := []Trial{{Row: "M1", Where: "by path", Tried: 7, Held: 7, Oracle: true}, {Row: "O1", Where: "docker", Tried: 3, Held: 3, Oracle: true}}
	for name, c := range map[string]struct {
		trials []Trial
		well   bool
		shows  []string
	}{
		"all held":          {good, true, []string{"a request that is a link", "by path", "alive", "[C1]"}},
		"one got through":   {append(good[:2:2], Trial{Row: "C1", Tried: 2, Held: 1, Oracle: true}), false, []string{"12", "11"}},
		"an oracle is dead": {append(good[:2:2], Trial{Row: "C1", Tried: 2, Held: 2}), false, []string{"DEAD", "1 dead"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if well := Print(&out, page, c.trials); well != c.well {
				t.Errorf("it is %t", well)
			}
			for _, text := range c.shows {
				if !strings.Contains(out.String(), text) {
					t.Errorf("it does not show %q:\n%s", text, out.String())
				}
			}
			if strings.Index(out.String(), "O1") > strings.Index(out.String(), "M1") {
				t.Errorf("the rows are not in the page's order:\n%s", out.String())
			}
		})
	}
}
