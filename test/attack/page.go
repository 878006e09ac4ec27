package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Verdict is the expected result of an attack.
type Verdict string

// The verdicts.
const (
	Held     Verdict = "held"
	Bounded  Verdict = "bounded"
	Reported Verdict = "reported"
	Open     Verdict = "open"
)

// Row is one attack on the page.
type Row struct {
	ID, Attack string
	Verdict    Verdict
	By         string
	Tests      []Test
}

// Test names a test of the repository, and a case of it.
type Test struct{ Dir, Name, Case string }

func (t Test) String() string {
	if t.Case == "" {
		return t.Dir + ": " + t.Name
	}
	return t.Dir + ": " + t.Name + "/" + t.Case
}

// Page is docs/THREATS.md.
type Page struct{ Rows []Row }

// RootVariable names a directory with the repository's pages, for a user who cannot read the repository.
const RootVariable = "TORNO_TEST_ROOT"

// Root returns the repository's directory: the first above the working directory with a go.mod, as it was when this
// process started.
func Root() string {
	if dir := os.Getenv(RootVariable); dir != "" {
		return dir
	}
	return root()
}

var began, _ = os.Getwd()

var root = sync.OnceValue(func() string {
	for dir := began; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	panic("no directory above " + began + " has a go.mod")
})

// ReadPage reads docs/THREATS.md of this repository.
func ReadPage() (Page, error) {
	text, err := os.ReadFile(filepath.Join(Root(), "docs", "THREATS.md"))
	if err != nil {
		return Page{}, err
	}
	return parse(string(text))
}

// Row is the row of an id, or nil.
func (p Page) Row(id string) *Row {
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Rows[i]
}

var (
	rowID    = regexp.MustCompile(`^[A-Z][0-9]+$`)
	testName = regexp.MustCompile("^`([a-z0-9/-]+): ((?:Test|Fuzz)[A-Za-z0-9_]*)(?:/([^`]+))?`$")
)

// parse reads the tables. It ignores the text around them, which is for people.
func parse(text string) (Page, error) {
	var page Page
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if len(cells) < 2 || !rowID.MatchString(id) {
			continue
		}
		row, err := parseRow(id, cells)
		if err != nil {
			return Page{}, fmt.Errorf("docs/THREATS.md, row %s: %w", id, err)
		}
		if page.Row(id) != nil {
			return Page{}, fmt.Errorf("docs/THREATS.md has two rows %s", id)
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

func parseRow(id string, cells []string) (Row, error) {
	if len(cells) != 5 {
		return Row{}, fmt.Errorf("it has %d cells and not 5", len(cells))
	}
	cell := func(i int) string { return strings.TrimSpace(cells[i]) }
	row := Row{ID: id, Attack: cell(1), Verdict: Verdict(cell(2)), By: cell(3)}
	if !slices.Contains([]Verdict{Held, Bounded, Reported, Open}, row.Verdict) {
		return Row{}, fmt.Errorf("%q is no verdict", row.Verdict)
	}
	if cell(4) == "" {
		return row, nil
	}
	for text := range strings.SplitSeq(cell(4), "<br>") {
		parts := testName.FindStringSubmatch(strings.TrimSpace(text))
		if parts == nil {
			return Row{}, fmt.Errorf("%q does not name a test as `package/dir: TestName` or `package/dir: TestName/case`", text)
		}
		row.Tests = append(row.Tests, Test{Dir: parts[1], Name: parts[2], Case: parts[3]})
	}
	return row, nil
}
