package runfile_test

import (
	"bytes"
	"errors"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"torno/internal/runfile"
)

// FuzzDecode: init obeys a file as a whole or not at all. What it takes can be written and read as the same, and keeps
// every promise of a File.
func FuzzDecode(f *testing.F) {
	good, err := runfile.Encode(whole())
	if err != nil {
		f.Fatal(err)
	}
	text := string(good)
	for from, to := range map[string]string{
		"": "", `"version":1`: `"version":2`, `"nonce":"0123456789abcdef"`: `"nonce":"0123456789abcde\n"`, "/p/ws/out/answer.txt": "/p/ws/../../etc/passwd",
		`"dir":"/p/ws"`: `"dir":"/p/ws/"`, `"inode":12`: `"inode":0`, `"unnumbered":true`: `"unnumbered":false`, `"umask":18`: `"umask":-1`, "nofile": "as", "PATH=/usr/bin:/bin": "=", `"path":"/p/ws",`: `"path":"/p",`,
		"EMPTY=": "PATH=/x", `"writable":true`: `"WRITABLE":true`, `"argv":[`: `"argv":[null,`, `"env":[`: `"env":null,"x":[`, "done": `\u0000`, `"filter":"`: `"filter":"AAAA`, `"max":1048576`: `"max":1e99`,
	} {
		f.Add([]byte(strings.Replace(text, from, to, 1)))
	}
	for _, bad := range []string{"", "null", "{}", "[]", text + "{}", text[:len(text)/2], `{"nonce":"x",` + text[1:], "\xff", strings.Repeat("[", 20_000)} {
		f.Add([]byte(bad))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := runfile.Decode(data)
		if err != nil {
			return
		}
		checkFile(t, file)
		first, err := runfile.Encode(file)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", file, err)
		}
		again, err := runfile.Decode(first)
		if err != nil || !reflect.DeepEqual(again, file) {
			t.Fatalf("%s is read as %+v, %v", first, again, err)
		}
		if second, err := runfile.Encode(again); err != nil || !bytes.Equal(first, second) {
			t.Errorf("two spellings (%v):\n%s\n%s", err, first, second)
		}
		whole := bytes.TrimRight(data, " \t\r\n")
		more := bytes.Replace(whole, []byte("{"), []byte(`{"of no meaning":0,`), 1)
		for _, bad := range [][]byte{whole[:len(whole)/2], whole[:len(whole)-1], slices.Concat(whole, whole), more} {
			if got, err := runfile.Decode(bad); err == nil {
				t.Errorf("%q was read as %+v", bad, got)
			}
		}
	})
}

var nonceForm = regexp.MustCompile(`\A[!-~]{16,128}\z`)

// checkFile has the promises about a File, written down a second time.
func checkFile(t *testing.T, f runfile.File) {
	t.Helper()
	places := []string{f.Dir}
	for _, m := range f.Mounts {
		places = append(places, m.Path)
		if m.Unnumbered != (m.Device == 0) || m.Unnumbered != (m.Inode == 0) {
			t.Errorf("something and nothing to compare with: %+v", m)
		}
	}
	if f.Answer.Path != "" {
		places = append(places, f.Answer.Path)
		if at := inner(f, f.Answer.Path); at == nil || !at.Writable || at.Path == f.Answer.Path {
			t.Errorf("the answer %q is in %+v", f.Answer.Path, at)
		}
	}
	for _, place := range places {
		if !path.IsAbs(place) || path.Clean(place) != place {
			t.Errorf("%q is not the one spelling of a place", place)
		}
	}
	texts := strings.Join(slices.Concat(f.Argv, f.Env, places), "")
	odd := func(entry string) bool { return strings.IndexByte(entry, '=') < 1 }
	if !utf8.ValidString(texts) || strings.ContainsRune(texts, 0) || !nonceForm.MatchString(f.Nonce) || slices.ContainsFunc(f.Env, odd) {
		t.Errorf("%+v was taken", f)
	}
	if f.Version != 1 || len(f.Argv) == 0 || f.Argv[0] == "" || f.Umask&^0o777 != 0 || len(f.Rlimits) > len(runfile.RlimitNames) {
		t.Errorf("%+v was taken", f)
	}
}

// inner is the innermost mount around a path, found by walking up.
func inner(f runfile.File, name string) *runfile.Mount {
	for at := name; ; at = path.Dir(at) {
		if i := slices.IndexFunc(f.Mounts, func(m runfile.Mount) bool { return m.Path == at }); i >= 0 {
			return &f.Mounts[i]
		}
		if at == "/" {
			return nil
		}
	}
}

// FuzzFirstLine: init's line is one of two forms, each with one spelling; everything else, whatever an agent would print
// in its place, is not init's.
func FuzzFirstLine(f *testing.F) {
	for _, line := range []string{
		"", "hello", "torno-init 1 started 5", "torno-init 1 started 05", "torno-init 1 started +5", "torno-init 1 started -5", "torno-init 1 started 9223372036854775808",
		"torno-init 1 started \u0665", "torno-init 2 started 5", " torno-init 1 started 5", "torno-init 1 started 5\r", "torno-init 1 started 5\x00", "torno-init 1 failed mount x",
		"torno-init 1 failed mount", "torno-init 1 failed  x", "torno-init 1 failed MOUNT x", "torno-init 1 failed other x", "torno-init 1 failed setup \x1b[2J",
	} {
		f.Add(line, int64(1_795_000_000_123_456_789))
	}
	f.Add("a\nb\r\n\tc\u2028\xff", int64(-1))
	f.Add(strings.Repeat("ü\xff", 3000), int64(0))
	f.Fuzz(func(t *testing.T, text string, nanoseconds int64) {
		checkLine(t, text)
		for _, why := range []runfile.Failure{runfile.FailureRunFile, runfile.FailureIdentity, runfile.FailureMount, runfile.FailureSetup} {
			checkFailedLine(t, why, text)
		}
		line := runfile.StartedLine(time.Unix(0, nanoseconds))
		at, err := runfile.ParseFirstLine(strings.TrimSuffix(string(line), "\n"))
		if good := nanoseconds > 0; good != (err == nil) || good && at.UnixNano() != nanoseconds {
			t.Errorf("%q is read as %v, %v", line, at, err)
		}
	})
}

var (
	startedForm = regexp.MustCompile(`\Atorno-init 1 started [1-9][0-9]{0,18}\z`)
	failedForm  = regexp.MustCompile(`(?s)\Atorno-init 1 failed (run_file|identity|mount|setup)( .*)?\z`)
)

func checkLine(t *testing.T, line string) {
	t.Helper()
	at, err := runfile.ParseFirstLine(line)
	var failed *runfile.NotStarted
	switch {
	case err == nil:
		if !startedForm.MatchString(line) || string(runfile.StartedLine(at)) != line+"\n" {
			t.Errorf("%q is read as %v", line, at)
		}
	case errors.As(err, &failed):
		if !failedForm.MatchString(line) || runfile.Failed+string(failed.Failure)+" "+failed.Sentence != line && failed.Sentence != "" {
			t.Errorf("%q is read as %+v", line, failed)
		}
	case !errors.Is(err, runfile.ErrNotInit) || failedForm.MatchString(line) || startedForm.MatchString(line) && len(line) < len(runfile.Started)+19:
		t.Errorf("%q is not init's: %v", line, err)
	}
}

// checkFailedLine: whatever the sentence is, the line is one, is short, and says the same.
func checkFailedLine(t *testing.T, why runfile.Failure, sentence string) {
	t.Helper()
	line := string(runfile.FailedLine(why, sentence))
	text, ended := strings.CutSuffix(line, "\n")
	if !ended || len(line) > 4096 || !utf8.ValidString(line) || strings.ContainsAny(text, "\n\r\v\f") {
		t.Fatalf("%q is no line", line)
	}
	_, err := runfile.ParseFirstLine(text)
	var failed *runfile.NotStarted
	if !errors.As(err, &failed) || failed.Failure != why {
		t.Fatalf("%q is read as %v", line, err)
	}
	words := func(s string) []string { return strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), unicode.IsSpace) }
	said, meant := words(failed.Sentence), words(sentence)
	if len(line) < 2000 && !slices.Equal(said, meant) {
		t.Errorf("%q became %q", sentence, failed.Sentence)
	}
}
