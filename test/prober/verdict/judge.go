package verdict

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"torno/sandbox"
	"torno/test/attack"
	"torno/test/prober/inside"
)

// Case has the findings in one sandbox, and in weak places beside it.
type Case struct {
	Where  string // for the score: "docker by handle"
	Column string // of the page: "docker"
	// OwnKernel is for a launcher whose sandboxes do not talk to the host's kernel, and which enforces that.
	OwnKernel bool
	// Attestation is what the host saw of the probed sandbox before it was released.
	Attestation sandbox.Attestation

	Strong []inside.Outcome
	Weak   map[string][]inside.Outcome // by what is taken away
}

// Judge fails the test for every verdict that is not the page's and for every probe that is dead, and keeps the score.
func Judge(t *testing.T, c Case) {
	t.Helper()
	page, err := ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(page.Launchers, c.Column) {
		t.Fatalf("test/prober/verdicts.md has no column %q", c.Column)
	}
	j := c.judge(page)
	fault, note := c.attested(os.Getenv("CI") == "true")
	if fault != "" {
		t.Error(fault)
	}
	t.Log(note)
	for _, fault := range j.faults {
		t.Error(fault)
	}
	for _, name := range j.unproved {
		t.Logf("NOTHING WAS PROVED by %q: this machine has none", name)
	}
	for _, name := range j.own {
		t.Logf("%q is done, and reaches the sandbox's own kernel only", name)
	}
	for _, row := range slices.Sorted(maps.Keys(j.trials)) {
		attack.Record(t, *j.trials[row])
	}
}

// attested says why a case counts for nothing: the host did not look at the probed sandbox, so that the words may be of one that is not what
// was asked for. A machine on which the host cannot look says so, and is none for CI.
func (c Case) attested(ci bool) (fault, note string) {
	switch a := c.Attestation; {
	case a.Attested && len(a.Seen) > 0:
		return "", fmt.Sprintf("%s: attested, %d things seen from outside", c.Where, len(a.Seen))
	case !a.Attested && a.Why != "" && !ci:
		return "", "NOT SHOWN HERE: that what was probed is what was asked for: " + a.Why
	default:
		return fmt.Sprintf("%s: what was probed was not attested: %+v", c.Where, a), ""
	}
}

// judgement is the result of a case.
type judgement struct {
	faults   []string
	unproved []string
	own      []string
	trials   map[string]*attack.Trial // by row
}

func (c Case) judge(page Page) *judgement {
	j := &judgement{trials: map[string]*attack.Trial{}}
	strong := byName(c.Strong)
	for _, e := range page.Lines {
		found, tried := strong[e.Name]
		words := e.Words[c.Column]
		switch {
		case !e.here():
		case !tried:
			j.faults = append(j.faults, e.Name+": it was not tried")
		case e.honest(), slices.Contains(words, inside.Done):
			if !slices.Contains(words, found.Word) {
				j.faults = append(j.faults, e.unlike(found, words))
			}
		case found.Word == inside.Done && c.OwnKernel && slices.Contains(words, own):
			j.own = append(j.own, e.Name)
		default:
			j.weigh(e, found, c)
		}
	}
	return j
}

func (e Expected) unlike(found inside.Outcome, words []inside.Word) string {
	return fmt.Sprintf("%s: %s (%s), and must be %v", e.Name, found.Word, found.Detail, words)
}

// weigh is for what must not work: it must have failed as expected, and worked where it can.
func (j *judgement) weigh(e Expected, found inside.Outcome, c Case) {
	held := slices.Contains(e.Words[c.Column], found.Word)
	if !held {
		j.faults = append(j.faults, e.unlike(found, e.Words[c.Column]))
	}
	said, alive, possible := c.elsewhere(e.Name)
	switch {
	case !possible && held:
		j.unproved = append(j.unproved, e.Name)
		return
	case !alive:
		j.faults = append(j.faults, fmt.Sprintf("%s: the probe is dead: %s", e.Name, said))
	}
	trial := j.trials[e.Row]
	if trial == nil {
		trial = &attack.Trial{Row: e.Row, Where: c.Where, Oracle: true, Note: "the prober"}
		j.trials[e.Row] = trial
	}
	trial.Tried++
	trial.Oracle = trial.Oracle && alive
	if held {
		trial.Held++
	}
}

// elsewhere is what came of a probe in the weak places: whether it worked in one, and whether this machine can know.
func (c Case) elsewhere(name string) (said string, alive, possible bool) {
	for _, place := range slices.Sorted(maps.Keys(c.Weak)) {
		o := byName(c.Weak[place])[name]
		said += fmt.Sprintf("%s: %s (%s); ", place, o.Word, o.Detail)
		alive = alive || o.Word == inside.Done
		possible = possible || o.Word != inside.Missing && (o.Word != inside.Absent || !o.Optional)
	}
	return said, alive, possible
}

func byName(all []inside.Outcome) map[string]inside.Outcome {
	names := make(map[string]inside.Outcome, len(all))
	for _, o := range all {
		names[o.Name] = o
	}
	return names
}
