package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"torno/delegation"
)

func TestInstallationIsMadeOnceAndKept(t *testing.T) {
	path := state(t)
	first := open4test(t, path).Installation()
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(first) {
		t.Errorf("the installation is %q", first)
	}
	if again := open4test(t, path).Installation(); again != first {
		t.Errorf("the installation was %s and is %s", first, again)
	}
	if other := open4test(t, state(t)).Installation(); other == first {
		t.Errorf("two journals have the installation %s", first)
	}
}

func TestOpenAtOnceMakesOneJournal(t *testing.T) {
	path := state(t)
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			j, err := Open(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = j.Installation()
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("the installations are %v", ids)
		}
	}
}

func TestFilesAreClosedToOthers(t *testing.T) {
	path := state(t)
	j := open4test(t, path)
	begin(t, j, queued(t, "main", "a", "r1"))
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 5 { // database, log, index, lock, mark of use
		t.Fatalf("the directory holds %v, %v", names, err)
	}
	for _, name := range names {
		info, err := name.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v", name.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
}

func TestNameMayHoldAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=memory&x#y%41", "jour?nal%2f#.db")
	begin(t, open4test(t, path), queued(t, "main", "a", "r1"))
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("the journal is not where it belongs: %v, %v", info, err)
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"directory open to the group": func(t *testing.T, path string) { chmod(t, filepath.Dir(path), 0o750) },
		"directory open to others":    func(t *testing.T, path string) { chmod(t, filepath.Dir(path), 0o701) },
		"file open to the group":      func(t *testing.T, path string) { chmod(t, path, 0o640) },
		"file open to others":         func(t *testing.T, path string) { chmod(t, path, 0o604) },
		"file is a link": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".away"))
			must(t, os.Symlink(path+".away", path))
		},
		"file has a second name": func(t *testing.T, path string) { must(t, os.Link(path, path+".too")) },
		"log is a link":          func(t *testing.T, path string) { must(t, os.Symlink("/etc/passwd", path+"-wal")) },
		"file is a directory":    func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) },
		"directory of another": func(t *testing.T, path string) {
			if err := os.Chown(filepath.Dir(path), 12345, 12345); err != nil {
				t.Skip("only root can give a directory away")
			}
		},
		"file of another": func(t *testing.T, path string) {
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Skip("only root can give a file away")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := state(t)
			must(t, first(Open(context.Background(), path)).Close())
			spoil(t, path)
			for what, open := range opens {
				if _, err := open(context.Background(), path); !errors.Is(err, ErrUnsafe) {
					t.Errorf("%s = %v, want ErrUnsafe", what, err)
				}
			}
		})
	}
}

var opens = map[string]func(context.Context, string) (*Journal, error){"Open": Open, "OpenReadOnly": OpenReadOnly}

func first(j *Journal, err error) *Journal {
	if err != nil {
		panic(err)
	}
	return j
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	must(t, os.Chmod(path, mode))
}

func TestNewerJournalIsNamedAndNotTouched(t *testing.T) {
	path := state(t)
	must(t, first(Open(context.Background(), path)).Close())
	tamper(t, path, `PRAGMA user_version = 99`)
	known, err := migrations()
	must(t, err)
	before := read(t, path)
	for what, open := range opens {
		_, err := open(context.Background(), path)
		var version *VersionError
		if !errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder) || !errors.As(err, &version) {
			t.Fatalf("%s = %v, want ErrNewer", what, err)
		}
		if version.Found != 99 || version.Known != firstVersion+len(known)-1 || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s = %v, want both versions and the file", what, err)
		}
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the file was changed")
	}
}

// tamper changes a closed journal behind its back.
func tamper(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(statement)
	must(t, err)
	must(t, db.Close())
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func TestDamagedJournalIsReportedAndNotTouched(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"empty":           func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"cut off":         func(t *testing.T, path string) { must(t, os.Truncate(path, 4096)) },
		"another's":       func(t *testing.T, path string) { tamper(t, path, `PRAGMA application_id = 7`) },
		"without version": func(t *testing.T, path string) { tamper(t, path, `PRAGMA user_version = 0`) },
		"without id":      func(t *testing.T, path string) { tamper(t, path, `DELETE FROM installation`) },
		"no database":     func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("hello, this is text"), 0o600)) },
		"scrambled": func(t *testing.T, path string) {
			b := read(t, path)
			copy(b[100:], bytes.Repeat([]byte{0xa5}, 3996))
			must(t, os.WriteFile(path, b, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := state(t)
			must(t, first(Open(context.Background(), path)).Close())
			spoil(t, path)
			before := read(t, path)
			for what, open := range opens {
				_, err := open(context.Background(), path)
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away") {
					t.Errorf("%s = %v, want ErrCorrupt with the file and the next step", what, err)
				}
			}
			if !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestDamageFoundLaterIsErrCorrupt(t *testing.T) {
	ctx := context.Background()
	path := state(t)
	j := first(Open(ctx, path))
	r := begin(t, j, full(t))
	multiply(t, j, 200)
	must(t, j.Close())
	b := read(t, path)
	for page := 24; page < len(b)/4096; page++ { // the schema is in front of them
		copy(b[page*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	}
	must(t, os.WriteFile(path, b, 0o600))
	j = open4test(t, path)
	if _, err := j.List(ctx, Query{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("List = %v, want ErrCorrupt", err)
	}
	if err := j.NoteAnswered(ctx, r.Key); err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("Answered = %v, want ErrCorrupt", err)
	}
}

func TestLogWithoutItsDatabaseIsDamage(t *testing.T) {
	path := state(t)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path+"-wal", []byte("frames"), 0o600))
	if _, err := Open(context.Background(), path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Open = %v, want ErrCorrupt", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal was made beside the log: %v", err)
	}
}

func TestHalfMadeJournalIsMadeAgain(t *testing.T) {
	path := state(t)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, suffix := range suffixes { // as a crash while the first one was made leaves it
		must(t, os.WriteFile(path+".new"+suffix, []byte("half"), 0o600))
	}
	begin(t, open4test(t, path), queued(t, "main", "a", "r1"))
	if left, err := filepath.Glob(path + ".new*"); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestReadOnly(t *testing.T) {
	ctx := context.Background()
	path := state(t)
	if _, err := OpenReadOnly(ctx, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly of nothing = %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly made the directory: %v", err)
	}
	j := open4test(t, path)
	r := begin(t, j, queued(t, "main", "a", "r1"))
	ro, err := OpenReadOnly(ctx, path)
	must(t, err)
	defer ro.Close()
	if got := get(t, ro, r.Key); got.State != delegation.StateQueued || ro.Installation() != j.Installation() {
		t.Errorf("read only: %+v of %s", got, ro.Installation())
	}
	bring(t, j, r.Key, delegation.StateStarting)
	if got := get(t, ro, r.Key); got.State != delegation.StateStarting {
		t.Errorf("the reader does not see the writer's move: %s", got.State)
	}
	for name, write := range map[string]func() error{
		"Begin":    func() error { _, err := ro.Begin(ctx, queued(t, "main", "a", "r2")); return err },
		"Move":     func() error { return ro.Move(ctx, r.Key, "starting", "running", Change{}) },
		"Answered": func() error { return ro.NoteAnswered(ctx, r.Key) },
	} {
		if err := write(); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s = %v, want ErrReadOnly", name, err)
		}
	}
	if _, err := ro.read.Exec(`DELETE FROM runs`); err == nil {
		t.Error("a reader's connection can write")
	}
}

func TestOlderJournal(t *testing.T) {
	older := &VersionError{Path: "/j", Found: 1, Known: 2}
	if !errors.Is(older, ErrOlder) || errors.Is(older, ErrNewer) || !strings.Contains(older.Error(), "start the watcher once") {
		t.Errorf("%v is not ErrOlder", older)
	}
}

func TestAJournalThatWasNeverReleasedIsNotTouched(t *testing.T) {
	path := state(t)
	must(t, first(Open(context.Background(), path)).Close())
	tamper(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, firstVersion-1))
	before := read(t, path)
	for what, open := range opens {
		if _, err := open(context.Background(), path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "never released") {
			t.Errorf("%s = %v", what, err)
		}
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the file was changed")
	}
}

func TestMigrationsAreNumberedAndAppliedOnce(t *testing.T) {
	ctx := context.Background()
	all, err := migrations()
	if err != nil || len(all) == 0 {
		t.Fatalf("migrations: %d, %v", len(all), err)
	}
	next := firstVersion + len(all)
	sets := func(n int) string { return fmt.Sprintf("; PRAGMA user_version = %d", n) }
	j := open4test(t, state(t))
	must(t, migrate(ctx, j.write))
	for range 2 {
		must(t, apply(ctx, j.write, `ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''`+sets(next), next))
	}
	begin(t, j, queued(t, "main", "a", "r1"))

	for what, bad := range map[string]string{
		"that fails half-way":        `ALTER TABLE runs ADD COLUMN more TEXT; CREATE TABLE runs (x)` + sets(next+1),
		"that forgets its number":    `ALTER TABLE runs ADD COLUMN more TEXT`,
		"that sets another's number": `ALTER TABLE runs ADD COLUMN more TEXT` + sets(next+2),
	} {
		if err := apply(ctx, j.write, bad, next+1); err == nil {
			t.Errorf("a migration %s was applied", what)
		}
		var version, columns int
		row := j.write.QueryRow(`SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'more')`)
		if err := row.Scan(&version, &columns); err != nil || version != next || columns != 0 {
			t.Errorf("a migration %s left version %d and %d columns, %v", what, version, columns, err)
		}
	}
}

func TestConnectionWithoutItsSettingsIsRefused(t *testing.T) {
	path := state(t)
	open4test(t, path)
	for promised, setting := range map[string]string{"synchronous(full)": "synchronous(normal)", "foreign_keys(1)": "foreign_keys(0)"} {
		m := writing
		m.dsn = strings.Replace(m.dsn, promised, setting, 1)
		db, err := connect(path, m)
		must(t, err)
		if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "did not accept") {
			t.Errorf("with %s: %v", setting, err)
		}
		must(t, db.Close())
	}
}

func TestCloseTwice(t *testing.T) {
	j := first(Open(context.Background(), state(t)))
	must(t, j.Close())
	must(t, j.Close())
}
