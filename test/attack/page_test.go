package attack

import (
	"strings"
	"testing"
)

// faults are where a page and the sources disagree.
func faults(page Page, s sources) (found []string) {
	for _, row := range page.Rows {
		if len(row.Tests) == 0 && row.Verdict != Open {
			found = append(found, row.ID+" names no test")
		}
		for _, test := range row.Tests {
			if !s.has(test) {
				found = append(found, row.ID+" names "+test.String()+", which does not exist")
			}
		}
	}
	for id, dir := range s.recorded {
		if page.Row(id) == nil {
			found = append(found, dir+" records "+id+", which is not on the page")
		} else if !names(page.Row(id), dir) {
			found = append(found, dir+" records "+id+", whose row names no test of it")
		}
	}
	return found
}

func names(row *Row, dir string) bool {
	for _, test := range row.Tests {
		if test.Dir == dir {
			return true
		}
	}
	return false
}

// TestDisagreementsAreFound: the test above would say what is wrong.
func TestDisagreementsAreFound(t *testing.T) {
	const table = "| O1 | a link | held | I5 | `x: TestThere`<br>`x: TestThere/a case` |\n"
	s := sources{
		functions: map[string]bool{"x: TestThere": true}, texts: map[string]bool{"x: a case": true},
		recorded: map[string]string{"O1": "x"},
	}
	for name, c := range map[string]struct{ page, want string }{
		"all is well":        {table, ""},
		"no test":            {"| O1 | a link | held | I5 | |\n", "O1 names no test"},
		"an open row":        {table + "| O2 | a link | open | none | |\n", ""},
		"a test is gone":     {table + "| O2 | a link | held | I5 | `x: TestGone` |\n", "O2 names x: TestGone"},
		"a case is gone":     {table + "| O2 | a link | held | I5 | `x: TestThere/other` |\n", "O2 names x: TestThere/other"},
		"a row is gone":      {strings.ReplaceAll(table, "O1", "O9"), "x records O1, which is not on the page"},
		"recorded elsewhere": {strings.ReplaceAll(table, "`x: TestThere`<br>`x: TestThere/a case`", "`y: TestThere`"), "O1, whose row names no test of it"},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := parse(c.page)
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(faults(page, s), "; ")
			if !strings.Contains(found, c.want) || c.want == "" && found != "" {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestBadRows(t *testing.T) {
	for name, line := range map[string]string{
		"cells":   "| O1 | a link | held | |",
		"verdict": "| O1 | a link | safe | I5 | |",
		"test":    "| O1 | a link | held | I5 | see the tests |",
		"twice":   "| O1 | a | open | b | |\n| O1 | a | open | b | |",
	} {
		if _, err := parse(line); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

func TestRecordWantsALiveOracle(t *testing.T) {
	for name, trial := range map[string]Trial{
		"a dead oracle":   {Row: "O1", Tried: 3, Held: 3},
		"one got through": {Row: "O1", Tried: 3, Held: 2, Oracle: true},
		"nothing tried":   {Row: "O1", Oracle: true},
		"no such row":     {Row: "Z99", Tried: 3, Held: 3, Oracle: true},
	} {
		if trial.fault() == "" {
			t.Errorf("%s: it is taken", name)
		}
	}
	if fault := (Trial{Row: "O1", Tried: 3, Held: 3, Oracle: true}).fault(); fault != "" {
		t.Error(fault)
	}
}
