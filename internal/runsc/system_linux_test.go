package runsc

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"torno/test/wait"
)

func TestFindLooksBesideTheRunningProgram(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := standIn(t, filepath.Dir(own), "")
	defer os.Remove(want)
	if got, err := Find(""); err != nil || got.Path != real(t, want) {
		t.Errorf("found %+v, %v, want %s", got, err, want)
	}
}

// TestPatienceEnds has a program that neither answers nor ends, and a child of it that holds the output.
func TestPatienceEnds(t *testing.T) {
	dir := t.TempDir()
	alive := filepath.Join(dir, "alive")
	script := "mkfifo " + alive + "; cat " + alive + " & wait"
	p := Program{Path: standIn(t, dir, script), patience: 200 * time.Millisecond}
	_, err := p.Version(t.Context())
	mustFail(t, err, Mute, p.Path, "did not answer", context.DeadlineExceeded.Error())
	wait.Until(t, "what it has started is gone", func() bool { return !running(alive) })
}

// running says whether a process was started with a word among its arguments.
func running(word string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		if data, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(data), "\x00"+word+"\x00") {
			return true
		}
	}
	return false
}

// TestNothingOfOursIsTold looks at what a program is executed with.
func TestNothingOfOursIsTold(t *testing.T) {
	t.Setenv("GVISOR_SIDECAR_BINARIES_DIR", "/tmp/evil")
	dir := t.TempDir()
	p := Program{Path: standIn(t, dir, "tr '\\0' '\\n' </proc/self/environ >"+dir+"/environ; pwd >"+dir+"/pwd; echo runsc version "+Pinned)}
	if _, err := p.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]*regexp.Regexp{
		"environ": regexp.MustCompile(`^(PWD=/\n|OLDPWD=.*\n|_=.*\n|SHLVL=.*\n)*$`), // what shells add by themselves
		"pwd":     regexp.MustCompile(`^/\n$`),
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !want.Match(got) {
			t.Errorf("%s has %d bytes that do not match %s, %v", file, len(got), want, err)
		}
	}
}
