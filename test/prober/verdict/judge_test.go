package verdict

import (
	"strings"
	"testing"

	"torno/sandbox"
	"torno/test/attack"
	"torno/test/prober/inside"
)

const table = `
| word | means |
| probe | row | tin |
|---|---|---|
| steal | C1 | refused or absent |
| allowed: lend | C1 | done |
`

// Rows of a page of threats that is not ours.
const held, kernel, open, unknown = "C1", "C8", "C9", "C7"

func TestBadPages(t *testing.T) {
	for text, want := range map[string]string{
		table + "| steal | C1 | refused |\n":      "twice",
		table + "| lie | C1 | perhaps |\n":        "is none of",
		table + "| lie | C1 |\n":                  "cells",
		table + "| lie | C1 | refused | done |\n": "cells",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFaults(t *testing.T) {
	threats := attack.Page{Rows: []attack.Row{{ID: held, Verdict: attack.Held}, {ID: kernel, Verdict: attack.Held}, {ID: open, Verdict: attack.Open}}}
	steal, lend := inside.Outcome{Row: held, Name: "steal"}, inside.Outcome{Row: held, Name: "allowed: lend"}
	for name, c := range map[string]struct {
		add    string
		probes []inside.Outcome
		want   string
	}{
		"all is well":              {"", []inside.Outcome{steal, lend}, ""},
		"a probe without a line":   {"", []inside.Outcome{steal, lend, {Row: held, Name: "lie"}}, "lie: the probe is not on the page"},
		"a line without a probe":   {"", []inside.Outcome{steal}, "allowed: lend: no probe has the name"},
		"two of one name":          {"", []inside.Outcome{steal, lend, steal}, "steal: two probes"},
		"another row":              {"", []inside.Outcome{{Row: open, Name: "steal"}, lend}, "steal: row C1 on the page, and C9"},
		"a row that is not there":  {"| lie | C7 | refused |", []inside.Outcome{steal, lend, {Row: unknown, Name: "lie"}}, "no row C7"},
		"done where it is held":    {"| lie | C1 | done |", []inside.Outcome{steal, lend, {Row: held, Name: "lie"}}, "row C1 is held"},
		"held where it is open":    {"| lie | C9 | refused |", []inside.Outcome{steal, lend, {Row: open, Name: "lie"}}, "row C9 is open"},
		"one's own":                {"| lie | C8 | own |", []inside.Outcome{steal, lend, {Row: kernel, Name: "lie"}}, ""},
		"the host's for one's own": {"| lie | C1 | own |", []inside.Outcome{steal, lend, {Row: held, Name: "lie"}}, "not about a kernel"},
		"honest for one's own":     {"| allowed: x | C8 | own |", []inside.Outcome{steal, lend, {Row: kernel, Name: "allowed: x"}}, "not about a kernel"},
		"honest and refused":       {"| allowed: x | C8 | refused |", []inside.Outcome{steal, lend, {Row: kernel, Name: "allowed: x"}}, "must be done"},
		"honest and nowhere":       {"| allowed: x | C8 | missing |", []inside.Outcome{steal, lend, {Row: kernel, Name: "allowed: x"}}, "works nowhere"},
	} {
		page, err := parse(table + c.add)
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(page.Faults(c.probes, threats), "; ")
		if !strings.Contains(found, c.want) || c.want == "" && found != "" {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}

func TestJudgement(t *testing.T) {
	page, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	of := func(word inside.Word, optional bool) []inside.Outcome {
		return []inside.Outcome{{Row: held, Name: "steal", Word: word, Optional: optional}}
	}
	for name, c := range map[string]struct {
		strong, lent inside.Word
		weak         []inside.Outcome
		fault        string
		trial        attack.Trial
	}{
		"held":                     {inside.Refused, inside.Done, of(inside.Done, false), "", attack.Trial{Tried: 1, Held: 1, Oracle: true}},
		"held in the other way":    {inside.Absent, inside.Done, of(inside.Done, false), "", attack.Trial{Tried: 1, Held: 1, Oracle: true}},
		"it got through":           {inside.Done, inside.Done, of(inside.Done, false), "steal: done", attack.Trial{Tried: 1, Oracle: true}},
		"it failed by itself":      {inside.Failed, inside.Done, of(inside.Done, false), "steal: failed", attack.Trial{Tried: 1, Oracle: true}},
		"the probe is dead":        {inside.Refused, inside.Done, of(inside.Refused, false), "is dead", attack.Trial{Tried: 1, Held: 1}},
		"nothing is there":         {inside.Absent, inside.Done, of(inside.Absent, false), "is dead", attack.Trial{Tried: 1, Held: 1}},
		"nothing need be there":    {inside.Absent, inside.Done, of(inside.Absent, true), "", attack.Trial{}},
		"the kernel has none":      {inside.Refused, inside.Done, of(inside.Missing, false), "", attack.Trial{}},
		"none, and it got through": {inside.Done, inside.Done, of(inside.Missing, false), "steal: done", attack.Trial{Tried: 1}},
		"an honest one is refused": {inside.Refused, inside.Refused, of(inside.Done, false), "allowed: lend: refused", attack.Trial{Tried: 1, Held: 1, Oracle: true}},
	} {
		strong := append(of(c.strong, false), inside.Outcome{Row: held, Name: "allowed: lend", Word: c.lent})
		j := Case{Column: "tin", Strong: strong, Weak: map[string][]inside.Outcome{"here": c.weak}}.judge(page)
		found := strings.Join(j.faults, "; ")
		if !strings.Contains(found, c.fault) || c.fault == "" && found != "" {
			t.Errorf("%s: found %q, want %q", name, found, c.fault)
		}
		var got attack.Trial
		if trial := j.trials["C1"]; trial != nil {
			got = *trial
		}
		if got.Tried != c.trial.Tried || got.Held != c.trial.Held || got.Oracle != c.trial.Oracle {
			t.Errorf("%s: %+v, want %+v", name, got, c.trial)
		}
	}
}

// TestAKernelOfItsOwn: what a child does to that counts neither for a launcher nor against it, if it promises one.
func TestAKernelOfItsOwn(t *testing.T) {
	page, err := parse(strings.ReplaceAll(table, "refused or absent", "own"))
	if err != nil {
		t.Fatal(err)
	}
	for promised, fault := range map[bool]string{true: "", false: "steal: done"} {
		strong := []inside.Outcome{{Row: held, Name: "steal", Word: inside.Done}, {Row: held, Name: "allowed: lend", Word: inside.Done}}
		weak := map[string][]inside.Outcome{"here": strong}
		j := Case{Column: "tin", Strong: strong, Weak: weak, OwnKernel: promised}.judge(page)
		found := strings.Join(j.faults, "; ")
		if !strings.Contains(found, fault) || fault == "" && (found != "" || len(j.own) != 1 || len(j.trials) > 0) {
			t.Errorf("promised %t: found %q, %+v", promised, found, j)
		}
	}
}

func TestAProbeThatWasNotTried(t *testing.T) {
	page, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	if j := (Case{Column: "tin"}).judge(page); len(j.faults) != 2 {
		t.Errorf("found %q", j.faults)
	}
}

func TestWhatWasNotAttestedCountsForNothing(t *testing.T) {
	seen := []sandbox.Observation{{What: "init", Value: "process 7"}}
	for what, c := range map[string]struct {
		a  sandbox.Attestation
		ci bool
		ok bool
	}{
		"attested":                {sandbox.Attestation{Attested: true, Seen: seen}, true, true},
		"without a look":          {sandbox.Attestation{}, false, false},
		"a look at nothing":       {sandbox.Attestation{Attested: true}, false, false},
		"where none can be had":   {sandbox.Attestation{Why: "no right"}, false, true},
		"where CI should be able": {sandbox.Attestation{Why: "no right"}, true, false},
	} {
		if fault, note := (Case{Attestation: c.a}).attested(c.ci); (fault == "") != c.ok || (note == "") == c.ok {
			t.Errorf("%s: %q, %q", what, fault, note)
		}
	}
}
