package outbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
)

// attempt is one attack. An absent field is as an honest client would have it.
type attempt struct {
	Row, name string
	raw       string            // what stands for the id in the name of the request
	place     string            // of the workspace, where it is not in the outbox
	say       func(*scene) says // the fields of the request that differ
	plant     func(*scene)      // done in place of submitting that request
	code      delegation.Code   // of the refusal that answers it; "" where judge looks at the answer itself
	judge     func(*scene)      // checks the end
	naive     func(*scene) bool // a careless watcher falls for it
}

// patienceOfTheHonest is how long an honest request may take while everything is tried at once. On two cores that others use too it took
// 20 seconds once; what would hold it up would do so for ever.
const patienceOfTheHonest = house.Patience

// attempts is the whole corpus but for what needs a watcher of its own.
func attempts() []attempt {
	return slices.Concat(entries, texts, bodies, options, answers, again, clocks, paths, places, mounted)
}

// alone are the rows that are tried with a watcher of their own.
func alone() (rows []string) {
	for _, m := range mistakes {
		rows = append(rows, m.Row)
	}
	return append(rows, "O23", "O24", "O25", "O26", "O27", "O28", "O36", "O37", "O38", "O39", "O40", "O41", "O42", "O43", "O44", "O45", "O46", "O47", "O48", "O49", "O50", "O51", "O52", "O53", "O54", "O55", "O56", "O58", "O59", "P21")
}

// TestEveryNounIsTried compares the rows of the page with the corpus.
func TestEveryNounIsTried(t *testing.T) {
	page, err := attack.ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, row := range alone() {
		tried[row] = true
	}
	for _, a := range attempts() {
		tried[a.Row] = true
	}
	for _, row := range page.Rows {
		if section := row.ID[:1]; (section == "O" || section == "P") && !tried[row.ID] {
			t.Errorf("nobody tries %s, %s", row.ID, row.Attack)
		}
	}
}

// TestCorpus plants everything, asks an honest question beside it, and judges.
func TestCorpus(t *testing.T) { tryCorpus(t, "docker", "") }

// TestCorpusAhead is the same where sandboxes are ready for what is asked, and for what is refused.
func TestCorpusAhead(t *testing.T) { tryCorpus(t, "docker, ahead", "pool: {size: 1, most: 24}") }

func tryCorpus(t *testing.T, where, pool string) {
	c := newCorpus(t, where, pool)
	all := attempts()
	scenes := make([]*scene, len(all))
	for i, a := range all {
		scenes[i] = c.scene(t, a, i)
		scenes[i].begin()
	}
	c.honest()
	for i, a := range all {
		t.Run(a.Row+" "+a.name, func(t *testing.T) {
			scenes[i].TB = t
			c.score(t, scenes[i])
		})
	}
	c.everyRequestIsAnsweredOnce()
	c.nothingLeaked()
	if pool != "" && c.FoundReady() == 0 {
		t.Error("no run found a sandbox ready")
	}
	for _, trial := range c.trials {
		attack.Record(t, *trial)
	}
}

// honest asks while everything is planted and nothing is judged.
func (c *corpus) honest() {
	c.Helper()
	c.Want(c.Run(house.Ask{ID: "honest", Task: "echo served"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

// score judges one attempt and keeps the count of its row.
func (c *corpus) score(t *testing.T, s *scene) {
	trial := c.trials[s.Row]
	if trial == nil {
		trial = &attack.Trial{Row: s.Row, Where: c.where, Oracle: true}
		c.trials[s.Row] = trial
	}
	trial.Tried++
	oracle := false
	defer func() {
		trial.Oracle = trial.Oracle && oracle
		if !t.Failed() {
			trial.Held++
		}
	}()
	oracle = s.naive(s)
	s.judgeAnswer()
	if !oracle {
		t.Error("the oracle is dead: nobody careless falls for this")
	}
}

// everyRequestIsAnsweredOnce looks at all that is called a request.
func (c *corpus) everyRequestIsAnsweredOnce() {
	c.Helper()
	for _, dir := range []string{c.Outbox, c.second} {
		found, err := os.ReadDir(dir)
		c.Must(err)
		for _, e := range found {
			kind, raw := delegation.ParseName(e.Name())
			response, ok := delegation.ResponseNameFor(raw)
			if kind != delegation.KindRequest || !ok {
				continue
			}
			if info, err := os.Lstat(filepath.Join(dir, response)); err != nil || !info.Mode().IsRegular() {
				c.Errorf("%q has no response: %v", e.Name(), err)
			}
		}
	}
}

// nothingLeaked looks for the secret in all that a parent or an operator can read, and checks the files that must not be touched.
func (c *corpus) nothingLeaked() {
	c.Helper()
	for _, dir := range []string{c.Outbox, c.second} {
		found, err := os.ReadDir(dir)
		c.Must(err)
		for _, e := range found {
			if kind, _ := delegation.ParseName(e.Name()); kind != delegation.KindRequest && e.Type().IsRegular() {
				if text := c.Read(filepath.Join(dir, e.Name())); strings.Contains(text, canary) {
					c.Errorf("the secret is in %s: %s", e.Name(), text)
				}
			}
		}
	}
	if strings.Contains(c.Said(), canary) {
		c.Error("the secret is in the log")
	}
	if now := look(c, c.victim); now != c.before {
		c.Errorf("the host's file was %s and is %s", c.before, now)
	}
	if now := names(c, c.Dir, c.base); !slices.Equal(now, c.around) {
		c.Errorf("around the outbox there was\n%q and there is\n%q", c.around, now)
	}
}
