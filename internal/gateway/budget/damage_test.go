package budget

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// full is a disk that has no room while it is full.
type full struct {
	*tape
	full, stuck bool // stuck: not even a cut succeeds
	renames     error
}

type fullFile struct {
	file
	disk *full
}

var errFull = errors.New("no room")

func (d *full) open(name string) (file, error) {
	f, err := d.tape.open(name)
	return &fullFile{f, d}, err
}

func (d *full) rename(from, to string) error {
	if d.renames != nil {
		return d.renames
	}
	return d.tape.rename(from, to)
}

func (f *fullFile) Write(p []byte) (int, error) {
	if f.disk.full {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, errFull
	}
	return f.file.Write(p)
}

func (f *fullFile) Truncate(size int64) error {
	if f.disk.stuck {
		return errFull
	}
	return f.file.Truncate(size)
}

func onDisk(t *testing.T, d disk, boot string) (*Ledger, error) {
	t.Helper()
	return open(setting{disk: d, dir: "dir", boot: boot, now: time.Now, least: compactAt})
}

// TestAFullDisk: no request leaves that is not written, and what was spent is known when there is room again.
func TestAFullDisk(t *testing.T) {
	d := &full{tape: newTape()}
	l, err := onDisk(t, d, "1")
	if err != nil {
		t.Fatal(err)
	}
	claim := run(Limits{})
	r := reserve(t, l, Amount{OutputTokens: 10, Requests: 1}, claim)
	d.full = true
	if _, err := l.Reserve(t.Context(), []Claim{claim}, oneRequest, false); !errors.Is(err, errFull) {
		t.Errorf("a request on a full disk: %v", err)
	}
	if err := r.Settle(Amount{OutputTokens: 4, Requests: 1}); !errors.Is(err, errFull) {
		t.Errorf("an end on a full disk: %v", err)
	}
	want := Amount{OutputTokens: 10, Requests: 1}
	if u := l.Use(claim.Scope); u != (Use{Spent: want}) {
		t.Errorf("this process counts %+v", u)
	}
	d.full = false
	if err := reserve(t, l, oneRequest, claim).Settle(oneRequest); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	next, err := onDisk(t, d.afterKill(), "1")
	if err != nil {
		t.Fatal(err)
	}
	want.Requests++
	if u := next.Use(claim.Scope); u != (Use{Spent: want}) {
		t.Errorf("the next process counts %+v", u)
	}
}

// TestAFileWhoseEndIsNotKnown: nothing is written after half a line.
func TestAFileWhoseEndIsNotKnown(t *testing.T) {
	d := &full{tape: newTape()}
	l, err := onDisk(t, d, "1")
	if err != nil {
		t.Fatal(err)
	}
	claim := run(Limits{})
	reserve(t, l, oneRequest, claim)
	d.full, d.stuck = true, true
	l.Reserve(t.Context(), []Claim{claim}, oneRequest, false)
	d.full = false
	if _, err := l.Reserve(t.Context(), []Claim{claim}, oneRequest, false); !errors.Is(err, errFull) {
		t.Errorf("after half a line: %v", err)
	}
	next, err := onDisk(t, d.afterKill(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if u := next.Use(claim.Scope); u.Spent != oneRequest {
		t.Errorf("the next process counts %+v", u)
	}
}

// TestALedgerThatCannotBeWrittenAnew goes on as it is, and says it.
func TestALedgerThatCannotBeWrittenAnew(t *testing.T) {
	d := &full{tape: newTape(), renames: errFull}
	l, err := onDisk(t, d, "1")
	if err != nil {
		t.Fatal(err)
	}
	l.allowed = 1
	reserve(t, l, oneRequest, run(Limits{}))
	if !errors.Is(l.Trouble(), errFull) {
		t.Errorf("its trouble is %v", l.Trouble())
	}
	d.renames = nil
	reserve(t, l, oneRequest, run(Limits{}))
	if l.Trouble() != nil {
		t.Errorf("when it is over: %v", l.Trouble())
	}
	next, err := onDisk(t, d.afterKill(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if u := next.Use(Scope{Run, "r"}); u.Spent.Requests != 2 {
		t.Errorf("the next process counts %+v", u)
	}
}

// written is a ledger of some lines, closed.
func written(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	l := ledger(t, dir)
	for range 5 {
		reserve(t, l, oneRequest, run(Limits{})).Settle(oneRequest)
	}
	l.Close()
	raw, err := os.ReadFile(filepath.Join(dir, ledgerName))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestDamageIsSaid: a process that was killed explains no changed byte but the end of the last line; a machine that
// stopped explains none in front of a line that was flushed.
func TestDamageIsSaid(t *testing.T) {
	raw := written(t)
	last := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1
	for _, boot := range []string{bootOf(t, raw), "another boot"} {
		for i := range raw[:len(raw)-1] {
			changed := bytes.Clone(raw)
			changed[i] ^= 0x10
			tape := newTape()
			tape.names[ledgerName] = &blob{data: changed}
			_, size, err := load(tape, "dir", boot)
			if _, ok := errors.AsType[*DamagedError](err); !ok && (boot != "another boot" || i < last-1 || size != int64(last)) && i != last-1 {
				t.Fatalf("byte %d of %d changed, boot %q: %v", i, len(raw), boot, err)
			}
		}
	}
}

// TestWhatAPowerCutExplains: a line that cannot be read, if none after it says that it was on the disk.
func TestWhatAPowerCutExplains(t *testing.T) {
	begin := record{Op: opBegin, Version: version, Boot: "1"}
	end := record{Op: opEnd}
	next := func(id uint64, more ...ahead) record {
		return record{Op: opReserve, ID: id, Of: []key{{Scope: Scope{Run, "r"}}}, Amount: oneRequest, Ahead: more}
	}
	much := ahead{key{Scope: Scope{Run, "r"}}, Amount{Requests: 9}}
	for name, c := range map[string]struct {
		lines  []record
		broken int
		tail   bool
	}{
		"nothing after it":                     {[]record{begin, next(1, much), next(2)}, 2, true},
		"lines that were not flushed":          {[]record{begin, next(1, much), next(2), next(3)}, 2, true},
		"one that was being flushed":           {[]record{begin, next(1, much), next(2), next(3, much)}, 2, true},
		"one that was flushed":                 {[]record{begin, next(1, much), next(2), next(3, much), next(4)}, 2, false},
		"an end":                               {[]record{begin, next(1, much), next(2), end}, 2, false},
		"another process":                      {[]record{begin, next(1, much), next(2), begin}, 2, false},
		"it is all":                            {[]record{begin}, 0, true},
		"the first, and the ledger went on":    {[]record{begin, next(1, much)}, 0, false},
		"the first, and no line was flushed":   {[]record{begin, next(1)}, 0, false},
		"the second beginning, and nothing":    {[]record{begin, end, begin}, 2, true},
		"the second beginning, and a new life": {[]record{begin, end, begin, next(1, much), next(2)}, 2, false},
	} {
		var raw []byte
		want := 0
		for i, r := range c.lines {
			if i == c.broken {
				want = len(raw)
			}
			line, err := encode(nil, r)
			if err != nil {
				t.Fatal(err)
			}
			if i == c.broken {
				line[len(line)/2] = 0
			}
			raw = append(raw, line...)
		}
		tape := newTape()
		tape.names[ledgerName] = &blob{data: raw}
		_, size, err := load(tape, "dir", "2")
		if _, damaged := errors.AsType[*DamagedError](err); damaged == c.tail || c.tail && size != int64(want) {
			t.Errorf("%s: %d of %d bytes count, %v", name, size, len(raw), err)
		}
	}
}

func bootOf(t *testing.T, raw []byte) string {
	t.Helper()
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	r, err := decode(line)
	if err != nil || r.Boot == "" {
		t.Fatalf("%s: %v", line, err)
	}
	return r.Boot
}

func TestAnErrorOfDamageSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	raw := written(t)
	raw[3] ^= 1
	if err := os.WriteFile(filepath.Join(dir, ledgerName), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is not mended by looking at it, and the lock is free
		_, err := Open(dir, time.Now)
		if _, ok := errors.AsType[*DamagedError](err); !ok || !strings.Contains(err.Error(), "line 1 of the budgets' ledger in "+dir) {
			t.Errorf("%v", err)
		}
	}
}

// TestALaterVersionIsNotCutAway: a program that does not know a line leaves the file as it is, on every boot.
func TestALaterVersionIsNotCutAway(t *testing.T) {
	for _, r := range []record{{Op: opBegin, Version: version + 1}, {Op: "rent"}, {Op: opSettle, ID: 9}} {
		lines, _ := encode(nil, record{Op: opBegin, Version: version, Boot: "1"})
		lines, _ = encode(lines, r)
		for _, boot := range []string{"1", "2", ""} {
			tape := newTape()
			tape.names[ledgerName] = &blob{data: lines}
			if _, _, err := load(tape, "dir", boot); err == nil {
				t.Errorf("%+v on boot %q: no error", r, boot)
			}
		}
	}
}

// FuzzLoad: no file makes it panic, and what it takes it takes again.
func FuzzLoad(f *testing.F) {
	raw, _ := encode(nil, record{Op: opBegin, Version: version, Boot: "1"})
	raw, _ = encode(raw, record{Op: opReserve, ID: 1, Of: []key{{Scope: Scope{Run, "r"}}}, Amount: oneRequest})
	f.Add(raw, "1")
	f.Add(raw, "2")
	f.Fuzz(func(t *testing.T, raw []byte, boot string) {
		// The checksums are made right: otherwise the fuzzer never gets behind them.
		var lines []byte
		for line := range bytes.Lines(raw) {
			body, ended := bytes.CutSuffix(line, []byte("\n"))
			if _, rest, ok := bytes.Cut(body, []byte(" ")); ok && ended {
				line = sealed(rest)
			}
			lines = append(lines, line...)
		}
		tape := newTape()
		tape.names[ledgerName] = &blob{data: lines}
		l, err := onDisk(t, tape, boot)
		if err != nil {
			return
		}
		again, _, err := load(tape, "dir", boot)
		if err != nil {
			t.Fatalf("%q: what was taken once: %v", lines, err)
		}
		for k, a := range l.book.accounts {
			if b := again.accounts[k]; b == nil || b.spent != a.spent {
				t.Errorf("%v has %+v, and read again %+v", k, a, b)
			}
		}
	})
}

// TestABeginningFollowsWhatIsOnTheDisk: else it would prove of lines that they were flushed which were not.
func TestABeginningFollowsWhatIsOnTheDisk(t *testing.T) {
	first := newTape()
	l, err := onDisk(t, first, "1")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		reserve(t, l, oneRequest, run(Limits{}))
	}
	before := len(first.names[ledgerName].data)
	if before == len(first.names[ledgerName].flushed) {
		t.Fatal("all is flushed already")
	}
	for left, opened := 0, false; !opened; left++ {
		next := first.afterKill()
		next.left = left
		_, err := onDisk(t, next, "1")
		opened = err == nil
		if b := next.names[ledgerName]; len(b.data) > before && len(b.flushed) < before {
			t.Fatalf("%d steps: it begins after %d bytes, of which %d are on the disk", left, before, len(b.flushed))
		}
	}
}

// TestAFileThatIsTakenAway: nothing more is spent while the ledger's name leads to another file, or to none. The open file would take every
// line, and the next process would know nothing of it.
func TestAFileThatIsTakenAway(t *testing.T) {
	for what, take := range map[string]func(path string) error{
		"removed":   os.Remove,
		"moved":     func(path string) error { return os.Rename(path, path+".old") },
		"exchanged": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		},
	} {
		dir := t.TempDir()
		l := ledger(t, dir)
		if err := reserve(t, l, oneRequest, run(Limits{})).Settle(oneRequest); err != nil {
			t.Fatal(err)
		}
		if err := take(filepath.Join(dir, ledgerName)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Reserve(t.Context(), []Claim{run(Limits{})}, oneRequest, false); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: a request may leave, %v", what, err)
		}
	}
	l := ledger(t, t.TempDir()) // written anew by ourselves, it is the same ledger
	l.allowed = 0
	for range 3 {
		if err := reserve(t, l, oneRequest, run(Limits{})).Settle(oneRequest); err != nil {
			t.Fatal(err)
		}
	}
}
