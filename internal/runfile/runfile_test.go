package runfile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"torno/internal/paths"
	"torno/internal/runfile"
)

// whole is a file with every field set.
func whole() runfile.File {
	return runfile.File{
		Version: runfile.Version,
		Nonce:   "0123456789abcdef",
		Argv:    []string{"sh", "-c", "echo <>&\u2028 done"},
		Env:     []string{"PATH=/usr/bin:/bin", "EMPTY=", "TWO=a=b"},
		Dir:     "/p/ws",
		Umask:   0o022,
		Rlimits: []runfile.Rlimit{{Name: "nofile", Value: 1024}, {Name: "core", Value: 0}},
		Mounts: []runfile.Mount{
			{Path: "/p", Device: 7, Inode: 11},
			{Path: "/p/ws", Device: 7, Inode: 12, Writable: true, Hardened: true},
			{Path: "/run/socket", Unnumbered: true},
		},
		Answer: runfile.Answer{Path: "/p/ws/out/answer.txt", FromStdout: true, Max: 1 << 20},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	for range 2 { // the second one replaces the first
		if err := runfile.Write(path, whole()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := runfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, whole()) {
		t.Errorf("read %+v", got)
	}
	if !got.For("0123456789abcdef") || got.For("0123456789abcdeF") || got.For("") {
		t.Error("For does not compare the nonce")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o444 {
		t.Errorf("mode %v, %v: the sandbox's uid must be able to read and nobody to write", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d entries are left in the directory", len(entries))
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		change func(*runfile.File)
		says   string
	}{
		{func(f *runfile.File) { f.Version = 2 }, "version is 2"},
		{func(f *runfile.File) { f.Nonce = "short" }, "nonce has 5 characters"},
		{func(f *runfile.File) { f.Nonce = "0123456789abcde\n" }, "not printable"},
		{func(f *runfile.File) { f.Argv = nil }, "names no program"},
		{func(f *runfile.File) { f.Argv[0] = "" }, "names no program"},
		{func(f *runfile.File) { f.Argv[2] = "a\x00b" }, "argv[2] is not text"},
		{func(f *runfile.File) { f.Argv[2] = "\xff" }, "argv[2] is not text"},
		{func(f *runfile.File) { f.Env[0] = "PATH" }, "env[0] is not NAME=value"},
		{func(f *runfile.File) { f.Env[0] = "=x" }, "env[0] is not NAME=value"},
		{func(f *runfile.File) { f.Env[1] = "E=\x00" }, `env[1] ("E") is not text`},
		{func(f *runfile.File) { f.Env[1] = "PATH=/x" }, "names PATH twice"},
		{func(f *runfile.File) { f.Dir = "ws" }, `dir "ws" is not a clean absolute path`},
		{func(f *runfile.File) { f.Dir = "/p/../ws" }, "not a clean absolute path"},
		{func(f *runfile.File) { f.Umask = 0o1000 }, "umask"},
		{func(f *runfile.File) { f.Umask = -1 }, "umask"},
		{func(f *runfile.File) { f.Rlimits[0].Name = "as" }, `rlimit "as" is not one of core, fsize`},
		{func(f *runfile.File) { f.Rlimits[0].Name = "core" }, "rlimit core is there twice"},
		{func(f *runfile.File) { f.Mounts[0].Path = "/p/" }, `mount "/p/" is not a clean`},
		{func(f *runfile.File) { f.Mounts[0].Inode = 0 }, "no device and inode"},
		{func(f *runfile.File) { f.Mounts[0].Device = 0 }, "no device and inode"},
		{func(f *runfile.File) { f.Mounts[0].Unnumbered = true }, "is unnumbered and has"},
		{func(f *runfile.File) { f.Mounts[0] = runfile.Mount{Path: "/p", Inode: 11, Unnumbered: true} }, "is unnumbered and has"},
		{func(f *runfile.File) { f.Mounts[0] = runfile.Mount{Path: "/p", Unnumbered: true, Hardened: true} }, "has flags to compare"},
		{func(f *runfile.File) { f.Mounts[0].Path = "/p/ws" }, "is there twice"},
		{func(f *runfile.File) { f.Answer.Path = "" }, "no path"},
		{func(f *runfile.File) { f.Answer.Path = "/p/ws/../x" }, "not a clean"},
		{func(f *runfile.File) { f.Answer.Path = "/p/wsx/a" }, "not lie in a writable"},
		{func(f *runfile.File) { f.Answer.Path = "/p/ws" }, "not lie in a writable"},
		{func(f *runfile.File) { f.Answer.Path = "/elsewhere/a" }, "not lie in a writable"},
		{func(f *runfile.File) { f.Mounts[1].Writable = false }, "not lie in a writable"},
		{func(f *runfile.File) { f.Answer.Max = 0 }, "answer may have"},
		{func(f *runfile.File) { f.Answer.Max = runfile.MaxAnswer + 1 }, "answer may have"},
	}
	for _, test := range tests {
		f := whole()
		test.change(&f)
		_, err := runfile.Encode(f)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v; it does not say %q", err, test.says)
		}
	}
	if err := whole().Validate(); err != nil {
		t.Errorf("the file that all these start from is refused: %v", err)
	}
}

func TestFilters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	for size, says := range map[int]string{
		0: "may have 1 to 4096", 8: "", 15: "not a whole number of steps", 8 * 4096: "", 8 * 4097: "has 4097 steps",
	} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		filter, err := runfile.ReadFilter(path)
		if says == "" && (err != nil || len(filter) != size) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("a filter of %d bytes: %d bytes, %v", size, len(filter), err)
		}
	}
	if _, err := runfile.ReadFilter(filepath.Dir(path)); err == nil {
		t.Error("a directory was taken for a filter")
	}
}

func TestOtherAnswers(t *testing.T) {
	for _, answer := range []runfile.Answer{{}, {Path: "/p/ws/a"}} {
		f := whole()
		f.Answer = answer
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: %v", answer, err)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	good, err := runfile.Encode(whole())
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	for name, bad := range map[string]string{
		"nothing":                "",
		"half":                   text[:len(text)/2],
		"an unknown field":       `{"privileged":true,` + text[1:],
		"a field inside":         strings.Replace(text, `"writable":true`, `"writable":true,"options":"x"`, 1),
		"a second value":         text + "{}",
		"a value of bad type":    strings.Replace(text, `"umask":18`, `"umask":"18"`, 1),
		"bytes that are no text": strings.Replace(text, "done", "\xff", 1),
		"a file too big":         strings.Replace(text, "done", strings.Repeat("x", runfile.MaxSize), 1),
		"a file that is wrong":   strings.Replace(text, `"version":1`, `"version":0`, 1),
	} {
		if f, err := runfile.Decode([]byte(bad)); err == nil {
			t.Errorf("%s was read as %+v", name, f)
		}
	}
}

func TestReadTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := runfile.Write(at("good"), whole()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("big"), make([]byte, runfile.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "fifo", "big", "missing", "."} {
		if _, err := runfile.Read(at(name)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestWriteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "run.json", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := runfile.Write(filepath.Join(dir, "run.json"), whole()); err == nil {
		t.Error("a directory was replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the directory has %d entries", len(entries))
	}
}

func TestMountOf(t *testing.T) {
	f := runfile.File{Mounts: []runfile.Mount{{Path: "/a/b"}, {Path: "/a"}, {Path: "/a/b/c"}}}
	for name, want := range map[string]int{"/a": 1, "/a/x": 1, "/a/b": 0, "/a/bc": 1, "/a/b/c/d": 2, "/ab": -1, "/": -1} {
		if got := f.MountOf(name); got != want {
			t.Errorf("MountOf(%q) = %d, want %d", name, got, want)
		}
	}
	if !paths.Within("/", "/x") {
		t.Error("/ holds everything")
	}
}
