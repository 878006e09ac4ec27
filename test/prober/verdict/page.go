package verdict

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"torno/test/attack"
	"torno/test/prober/inside"
)

// Expected is one line of the page.
type Expected struct {
	Name, Row string
	Words     map[string][]inside.Word // by launcher; one of them it must be
}

// Page is test/prober/verdicts.md.
type Page struct {
	Launchers []string
	Lines     []Expected
}

// ReadPage reads it.
func ReadPage() (Page, error) {
	text, err := os.ReadFile(filepath.Join(attack.Root(), "test", "prober", "verdicts.md"))
	if err != nil {
		return Page{}, err
	}
	return parse(string(text))
}

// parse takes the tables apart: a name, a row, and a column for each launcher. All tables have the same columns.
func parse(text string) (page Page, err error) {
	for line := range strings.Lines(text) {
		line, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !isRow {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "probe":
			page.Launchers = cells[2:]
		case page.Launchers == nil, strings.HasPrefix(cells[0], "---"):
		default:
			if err := page.add(cells); err != nil {
				return page, fmt.Errorf("verdicts.md, %q: %w", cells[0], err)
			}
		}
	}
	return page, nil
}

// own is a word of the page only: the prober says done, and cannot know which kernel did it.
const own inside.Word = "own"

var known = []inside.Word{inside.Done, inside.Refused, inside.Missing, inside.Absent, own}

func (p *Page) add(cells []string) error {
	if len(cells) != 2+len(p.Launchers) || len(p.Launchers) == 0 {
		return fmt.Errorf("it has %d cells and not %d", len(cells), 2+len(p.Launchers))
	}
	if p.line(cells[0]) != nil {
		return fmt.Errorf("it is there twice")
	}
	e := Expected{Name: cells[0], Row: cells[1], Words: map[string][]inside.Word{}}
	for i, launcher := range p.Launchers {
		for text := range strings.SplitSeq(cells[2+i], " or ") {
			word := inside.Word(text)
			if !slices.Contains(known, word) {
				return fmt.Errorf("%q is none of %v", text, known)
			}
			e.Words[launcher] = append(e.Words[launcher], word)
		}
	}
	p.Lines = append(p.Lines, e)
	return nil
}

func (p *Page) line(name string) *Expected {
	i := slices.IndexFunc(p.Lines, func(e Expected) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Lines[i]
}

// here says whether a probe is one of this architecture.
func (e Expected) here() bool {
	return !strings.HasSuffix(e.Name, "(amd64)") || runtime.GOARCH == "amd64"
}

// honest says whether a probe is of what must work.
func (e Expected) honest() bool { return strings.HasPrefix(e.Name, inside.Allowed) }

// Faults are where the page, the probes and docs/THREATS.md disagree.
func (p Page) Faults(probes []inside.Outcome, threats attack.Page) (faults []string) {
	tried := map[string]bool{}
	for _, o := range probes {
		line := p.line(o.Name)
		switch {
		case tried[o.Name]:
			faults = append(faults, o.Name+": two probes have the name")
		case line == nil:
			faults = append(faults, o.Name+": the probe is not on the page")
		case line.Row != o.Row:
			faults = append(faults, fmt.Sprintf("%s: row %s on the page, and %s of the probe", o.Name, line.Row, o.Row))
		}
		tried[o.Name] = true
	}
	for _, e := range p.Lines {
		if e.here() && !tried[e.Name] {
			faults = append(faults, e.Name+": no probe has the name")
		}
		faults = append(faults, e.against(threats)...)
	}
	return faults
}

// shared are the rows of things that belong to the host, whichever kernel a child talks to: networks, sockets and files.
// There own is no excuse.
var shared = []string{"C1", "C3", "C16", "C17", "C19", "C23", "C24"}

// against says where a line promises what its row does not: what works is said to be open, or is honest.
func (e Expected) against(threats attack.Page) (faults []string) {
	row := threats.Row(e.Row)
	if row == nil {
		return []string{e.Name + ": docs/THREATS.md has no row " + e.Row}
	}
	works := false
	for launcher, words := range e.Words {
		works = works || slices.Contains(words, inside.Done)
		if why := e.odd(words, row.Verdict == attack.Open); why != "" {
			faults = append(faults, fmt.Sprintf("%s: %v with %s: %s", e.Name, words, launcher, why))
		}
	}
	if !works && (e.honest() || row.Verdict == attack.Open) {
		faults = append(faults, fmt.Sprintf("%s: it works nowhere, and row %s is %s", e.Name, e.Row, row.Verdict))
	}
	return faults
}

// odd says what is wrong with the words of one launcher.
func (e Expected) odd(words []inside.Word, open bool) string {
	for _, word := range words {
		switch {
		case word == own && (e.honest() || slices.Contains(shared, e.Row)):
			return "it is not about a kernel of one's own"
		case e.honest() && word != inside.Done && word != inside.Missing:
			return "it must be done, or there is no such thing"
		case word == inside.Done && !e.honest() && !open:
			return "row " + e.Row + " is held"
		}
	}
	return ""
}
