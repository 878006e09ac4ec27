package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/test/attack"
)

// powerEnv makes the test binary the process whose power is cut: it names the journal and the round.
const powerEnv = "TORNO_TEST_JOURNAL_POWER"

// history is what each key looks like after each step that changes it.
type history map[string][]moment

type moment struct {
	step int
	view string
}

// writeHistory lives the rounds without a power cut.
func writeHistory(t *testing.T, rounds []round) (h history, flushed []bool) {
	t.Helper()
	h, path, n := history{}, filepath.Join(inMemory(t), "state", "journal.db"), 0
	for _, r := range rounds {
		j := first(Open(t.Context(), path))
		for _, s := range r.steps {
			must(t, s.do(t.Context(), j))
			flushed = append(flushed, s.flushed)
			now := view(t, j)
			for key := range h {
				now[key] += "" // also what is gone
			}
			for key, v := range now {
				if m := h[key]; len(m) == 0 || m[len(m)-1].view != v {
					h[key] = append(m, moment{n, v})
				}
			}
			n++
		}
		must(t, j.Close())
	}
	return h, flushed
}

// view is all that a journal knows, without its times.
func view(t *testing.T, j *Journal) map[string]string {
	t.Helper()
	rows, err := j.write.Query(`SELECT key, concat_ws(' ', state, reason, sandbox, handle, exit_code, length(stdout_tail), answered, attempt) FROM runs
		UNION ALL SELECT lower(hex(key)), 'forgotten' FROM forgotten`)
	must(t, err)
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var key, v string
		must(t, rows.Scan(&key, &v))
		all[key] += v
	}
	must(t, rows.Err())
	return all
}

// cutter cuts the power of what is on a tape.
type cutter struct {
	*tape
	history      history
	flushed      []bool
	installation string
	random       *rand.Rand
	room         string // where a cut's files are laid
}

// said is how far the process was.
type said struct {
	opened   bool
	began    map[int]bool
	did      map[int]bool
	earlier  map[int][]int // what was done before a step began
	required map[int]bool  // what must be there
}

func (s *said) hear(line string, flushed []bool) {
	var n int
	switch {
	case line == "open":
		s.opened = true
	case scanLine(line, "do %d", &n):
		s.began[n] = true
		for d := range s.did {
			s.earlier[n] = append(s.earlier[n], d)
		}
	case scanLine(line, "did %d", &n):
		s.did[n] = true
		if flushed[n] {
			s.require(n)
		}
	}
}

func scanLine(line, format string, n *int) bool {
	_, err := fmt.Sscanf(line, format, n)
	return err == nil
}

// require wants a step, and all that was done before it began: the log is one file.
func (s *said) require(n int) {
	s.required[n] = true
	for _, e := range s.earlier[n] {
		s.required[e] = true
	}
}

// powerCut is how one cut ended.
type powerCut struct{ at, kind, fault string }

// cuts goes over the tape and cuts at some of its events, in all the ways. A tape of which nothing is flushed is the oracle.
func (c *cutter) cuts(t *testing.T, n int, flushes bool) (tried int, faults []powerCut) {
	t.Helper()
	d := &disk{files: map[int]*image{}, names: map[string]int{}}
	s := &said{began: map[int]bool{}, did: map[int]bool{}, earlier: map[int][]int{}, required: map[int]bool{}}
	weights := 0.0
	for _, e := range c.events {
		weights += weight(e)
	}
	for i, e := range c.events {
		if e.what == "said" {
			s.hear(e.name, c.flushed)
		}
		if e.what != "flushed" || flushes {
			d.play(e)
		}
		chance := float64(n) * weight(e) / weights
		if flushes && e.what != "written" && e.what != "said" && slices.ContainsFunc(d.todo, isName) {
			chance = float64(n) / 100 // few moments have a name that is not durable
		}
		if c.random.Float64() > chance && i < len(c.events)-1 {
			continue
		}
		for kind, how := range c.ways(d.todo) {
			tried++
			if fault := c.after(t, d, s, how); fault != "" {
				faults = append(faults, powerCut{fmt.Sprintf("event %d (%s %s)", i, e.what, e.name), kind, fault})
			}
		}
	}
	return tried, faults
}

func isName(c change) bool { return c.what == "named" }

// weight is how much one wants to cut here: one page of many is as good as the next.
func weight(e event) float64 {
	if e.what == "written" {
		return 0.02
	}
	return 1
}

type way struct {
	kept   func(i int, c change) bool
	extend bool
}

// ways are what may be left of so many changes.
func (c *cutter) ways(todo []change) map[string]way {
	n := len(todo)
	if n == 0 {
		return map[string]way{"all was flushed": {func(int, change) bool { return true }, false}}
	}
	one, seed := c.random.IntN(n), c.random.Uint64()
	coin := func(salt uint64) func(int, change) bool {
		return func(i int, _ change) bool { return rand.New(rand.NewPCG(seed+salt, uint64(i))).IntN(2) == 0 }
	}
	all := map[string]way{
		"nothing":                  {func(int, change) bool { return false }, false},
		"names alone":              {func(_ int, c change) bool { return isName(c) }, false},
		"no names":                 {func(_ int, c change) bool { return !isName(c) }, false},
		"all":                      {func(int, change) bool { return true }, false},
		"a beginning":              {func(i int, _ change) bool { return i < one }, false},
		"an end":                   {func(i int, _ change) bool { return i >= one }, false},
		"one is missing":           {func(i int, _ change) bool { return i != one }, false},
		"one alone":                {func(i int, _ change) bool { return i == one }, false},
		"any":                      {coin(1), false},
		"any, and all names":       {func(i int, c change) bool { return isName(c) || coin(2)(i, c) }, false},
		"any, with zeroes between": {func(i int, c change) bool { return isName(c) || coin(3)(i, c) }, true},
		"zeroes":                   {func(_ int, c change) bool { return isName(c) }, true},
	}
	var places []int // and each choice of names
	for i, c := range todo {
		if isName(c) {
			places = append(places, i)
		}
	}
	for some := range 1 << min(len(places), 3) {
		all[fmt.Sprintf("names %b", some)] = way{func(i int, c change) bool {
			return !isName(c) || some>>slices.Index(places, i)&1 == 1
		}, false}
	}
	return all
}

// after opens what a cut leaves, and says what is wrong with it.
func (c *cutter) after(t *testing.T, d *disk, s *said, how way) string {
	t.Helper()
	dir := filepath.Join(c.room, "state")
	must(t, os.Mkdir(dir, 0o700))
	d.lay(t, dir, how.kept, how.extend)
	defer os.RemoveAll(dir)
	j, err := Open(t.Context(), filepath.Join(dir, "journal.db"))
	if err != nil {
		return err.Error()
	}
	defer j.Close()
	if s.opened && j.Installation() != c.installation {
		return "another installation"
	}
	var verdict string
	if err := j.write.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Sprintf("the integrity check says %q, %v", verdict, err)
	}
	fault := c.compare(view(t, j), s)
	if _, err := j.Begin(t.Context(), queued(t, "main", "z", "new")); err != nil {
		return "nothing can be begun: " + err.Error()
	}
	return fault
}

// compare wants each key as it was after one of its steps: what was promised is there, and nothing without all that was
// done before it.
func (c *cutter) compare(have map[string]string, s *said) string {
	found, wanted := map[string]int{}, &said{earlier: s.earlier, required: map[int]bool{}}
	for n := range s.required {
		wanted.required[n] = true
	}
	for key, moments := range c.history {
		found[key] = -1
		known := have[key] == ""
		for _, m := range moments {
			if m.view == have[key] && s.began[m.step] {
				found[key], known = m.step, true
			}
		}
		if !known {
			return fmt.Sprintf("%s is half done: %q", key, have[key])
		}
		if found[key] >= 0 {
			wanted.require(found[key])
		}
	}
	for key, moments := range c.history {
		for _, m := range moments {
			if wanted.required[m.step] && found[key] < m.step {
				return fmt.Sprintf("%s was promised as %q and is %q", key, m.view, have[key])
			}
		}
	}
	return ""
}

// TestAPowerCut cuts the power of a journal's whole life: at any system call, with any of what was not flushed on the
// disk, torn, in any order, with names that are not there yet, with zeroes in place of what is missing. The oracle is the
// same life without a flush.
func TestAPowerCut(t *testing.T) {
	rounds := powerRounds(t)
	room := inMemory(t)
	path := filepath.Join(room, "taped", "journal.db")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	p := &tape{dir: filepath.Dir(path), names: map[string]int{}}
	for n := range rounds {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", powerEnv, path, n))
		command.Stderr = os.Stderr
		p.record(t, command)
	}
	c := &cutter{tape: p, random: rand.New(rand.NewPCG(7, 7)), room: room}
	c.history, c.flushed = writeHistory(t, rounds)
	c.isWhole(t)
	j := first(Open(t.Context(), path))
	c.installation = j.Installation()
	must(t, j.Close())

	cuts := attack.Times(25, 5000)
	if testing.Short() {
		cuts = 5
	}
	tried, faults := c.cuts(t, cuts, true)
	for i, f := range faults[:min(len(faults), 20)] {
		t.Errorf("%d: power cut after %s, %s: %s", i, f.at, f.kind, f.fault)
	}
	_, without := c.cuts(t, 6, false)
	attack.Record(t, attack.Trial{
		Row: "H12", Where: "journal", Tried: tried, Held: tried - len(faults), Oracle: len(without) > 0,
		Note: fmt.Sprintf("%d events, %d faults without flushes", len(p.events), len(without)),
	})
}

// inMemory is a directory that waits for no disk, where there is one. The tape has the flushes all the same.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "torno-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// isWhole compares the files with what is on the tape: the tape forgot nothing.
func (c *cutter) isWhole(t *testing.T) {
	t.Helper()
	d := &disk{files: map[int]*image{}, names: map[string]int{}}
	for _, e := range c.events {
		d.play(e)
	}
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o700))
	d.lay(t, dir, func(int, change) bool { return true }, false)
	for _, suffix := range []string{"", "-wal", markSuffix} {
		if !bytes.Equal(read(t, filepath.Join(dir, "journal.db"+suffix)), read(t, filepath.Join(c.dir, "journal.db"+suffix))) {
			t.Fatalf("the tape has another journal.db%s than the disk: a system call was missed", suffix)
		}
	}
}

// liveIfAsked is the process of TestAPowerCut.
func liveIfAsked() {
	path, number, ok := strings.Cut(os.Getenv(powerEnv), "\n")
	if !ok {
		return
	}
	var n int
	_, err := fmt.Sscan(number, &n)
	rounds, first := powerRounds(&testing.B{}), 0
	for _, r := range rounds[:n] {
		first += len(r.steps)
	}
	if err == nil {
		err = liveRound(path, rounds[n], first)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
