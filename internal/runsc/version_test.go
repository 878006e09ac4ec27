package runsc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	for text, c := range map[string]struct {
		date   string
		reason Reason
	}{
		Pinned:                                  {"2026-09-05", ""},
		"release-20260907.0":                    {"2026-09-07", ""},
		"release-20260907.0-13-g5ae639aced1155": {"2026-09-07", ""},
		"google-20261012.1":                     {"2026-10-12", ""},
		"v0.0.0-20261120101112-abcdefabcdef":    {"2026-11-20", ""},
		"release-20260831.0":                    {"", TooOld},
		"release-20250319.0":                    {"", TooOld},
		"0.0~20221219.0":                        {"", TooOld}, // Debian 12
		"20240408.0-1.20270418git9e5a99b.fc41":  {"", TooOld}, // the first date counts
		"VERSION_MISSING":                       {"", TooOld},
		"release-20261399.0":                    {"", TooOld},
		"release-202609070":                     {"", TooOld},
		"":                                      {"", TooOld},
	} {
		p := Program{Path: standIn(t, t.TempDir(), "[ \"$*\" = --version ] && echo 'runsc version "+text+"' && echo 'spec: 1.2.1'")}
		v, err := p.Version(t.Context())
		if c.reason != "" {
			mustFail(t, err, c.reason, p.Path, text)
			continue
		}
		if err != nil || v.Text != text || v.Date.Format(time.DateOnly) != c.date {
			t.Errorf("%q is %+v, %v, want %s", text, v, err, c.date)
		}
		if warned := v.Warning() != ""; warned != (text != Pinned) {
			t.Errorf("%q has the warning %q", text, v.Warning())
		}
	}
}

func TestOldestIsNotBehindThePinned(t *testing.T) {
	date, ok := dateOf(Pinned)
	if !ok || date.Format(time.DateOnly) < oldest {
		t.Errorf("%s is of %v, and the oldest that is used is %s", Pinned, date, oldest)
	}
}

func TestForeignPrograms(t *testing.T) {
	for script, want := range map[string]string{
		"echo runc version 1.1.5":                     `"runc version 1.1.5"`,
		"echo 'a runsc version release-20260907.0'":   `"a runsc version`,
		"printf 'runsc\\033[2J version release-2026'": `"runsc\x1b[2J version`,
		"": `""`,
		"echo 'runsc version release-20260907.0' >&2":  `""`,
		"head -c 9000000 /dev/zero | tr '\\0' x; true": `"xxx`,
	} {
		p := Program{Path: standIn(t, t.TempDir(), script)}
		_, err := p.Version(t.Context())
		mustFail(t, err, Foreign, p.Path, "is not gVisor's runsc", want)
		if len(err.Error()) > 500 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
}

func TestOnlyTheBeginningIsKept(t *testing.T) {
	var h head
	for range 3 {
		if n, err := h.Write(make([]byte, answerSize-1)); n != answerSize-1 || err != nil {
			t.Errorf("took %d bytes, %v", n, err)
		}
	}
	if got := len(h.String()); got != answerSize {
		t.Errorf("%d bytes were kept", got)
	}
}

func TestProgramsThatDoNotAnswer(t *testing.T) {
	p := Program{Path: standIn(t, t.TempDir(), "echo runsc version "+Pinned+"; echo 'no such flag' >&2; exit 64")}
	_, err := p.Version(t.Context())
	mustFail(t, err, Mute, p.Path, "no such flag", "exit status 64")

	p = Program{Path: standIn(t, t.TempDir(), "")}
	if err := os.WriteFile(p.Path, []byte("\x7fELF nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = p.Version(t.Context())
	mustFail(t, err, Mute, p.Path)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("we are told to stop"))
	_, err = p.Version(ctx)
	mustFail(t, err, Mute, "we are told to stop")
}

// TestTheModulePinsTheSame holds the constant against what is built.
func TestTheModulePinsTheSame(t *testing.T) {
	data, err := os.ReadFile("../../runsc/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\s*gvisor\.dev/gvisor ` + regexp.QuoteMeta(Pinned) + `( |$)`).Match(data) {
		t.Errorf("runsc/go.mod does not require %s", Pinned)
	}
}

func TestWhatIsBuilt(t *testing.T) {
	const built = "../../bin/runsc"
	if _, err := os.Stat(built); err != nil {
		if os.Getenv("CI") == "true" && !testing.Short() {
			t.Fatalf("it is not built: %v", err)
		}
		t.Skip("NOT SHOWN HERE: bin/runsc is not built; make build does that")
	}
	p, err := find(built, built)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Version(t.Context()); err != nil || v.Text != Pinned || v.Warning() != "" {
		t.Errorf("%+v, %v", v, err)
	}
}

var update = flag.Bool("update", false, "note that what is in runsc/ was compared: scripts/compare does that")

// TestTheBuildIsCompared: what make build makes of the sources in runsc/ was held beside gVisor's own build since they changed.
func TestTheBuildIsCompared(t *testing.T) {
	const note = "../../runsc/compared.txt"
	is := Pinned + " " + sourcesOf(t, "../../runsc") + "\n"
	if *update {
		if err := os.WriteFile(note, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(note); err != nil || string(was) != is {
		t.Errorf("compared was %q, %v; now it is %q: make compare", was, err, is)
	}
}

// sourcesOf is a digest of all that a build of runsc is made of.
func sourcesOf(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "compared.txt" || strings.HasSuffix(name, ".md") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
