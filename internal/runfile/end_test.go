package runfile_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"torno/internal/runfile"
)

// TestAnEndIsSeenHoweverItComes: cut into two pieces anywhere, or byte by byte, with a last line that has no end.
func TestAnEndIsSeenHoweverItComes(t *testing.T) {
	token, end := rand.Text(), runfile.End{Code: 254, Memory: runfile.MemoryKilled, Up: 3 * time.Hour}
	mark := string(runfile.EndMark(token, end))
	older := strings.Replace(mark[:len(mark)-len(" 0000010800000000000\n")]+"\n", "init 2", "init 1", 1)
	of := strings.Repeat("A", runfile.TokenSize)
	for _, said := range []string{
		"", "a line\n", "no end of a line", "\x00", "\x00\x00torno", "\x00torno-init 2 ended ", "\x00torno-init 2 ended " + of + " 000\nmore",
		"\x00torno-init 1 ended ", "\x00torno-init 1 ended " + of + " 000\nmore", "\x00torno-init 1 ended " + of + " 000 0 0000000000000000000\n",
	} {
		seen(t, token, said, mark, end)
		seen(t, token, said, older, runfile.End{Code: end.Code, Memory: end.Memory})
	}
}

// seen fails the test unless an Ending recognises the mark and passes on exactly what was said before it.
func seen(t *testing.T, token, said, mark string, end runfile.End) {
	t.Helper()
	whole := []byte(said + mark)
	for cut := range len(whole) + 1 {
		e := runfile.Ending{Digest: runfile.DigestOf(token)}
		got := bytes.Clone(e.Take(bytes.Clone(whole[:cut])))
		got = append(got, e.Take(bytes.Clone(whole[cut:]))...)
		if as, ended := e.Ended(); string(got) != said || !ended || as != end || e.Held() != 0 {
			t.Fatalf("%q cut at %d: %q, %+v, %t", whole, cut, got, as, ended)
		}
	}
	e := runfile.Ending{Digest: runfile.DigestOf(token)}
	var got []byte
	for i := range whole {
		got = append(got, e.Take(whole[i:i+1])...)
	}
	if _, ended := e.Ended(); string(got) != said || !ended {
		t.Errorf("%q byte by byte: %q, %t", whole, got, ended)
	}
}

// TestNobodyElseCanSayTheEnd: without the token a mark is what the agent has printed, all of it.
func TestNobodyElseCanSayTheEnd(t *testing.T) {
	token := rand.Text()
	mark := string(runfile.EndMark(token, runfile.End{Memory: runfile.MemoryHeld}))
	for name, said := range map[string]string{
		"another token":  string(runfile.EndMark(rand.Text(), runfile.End{Memory: runfile.MemoryHeld})),
		"its digest":     strings.Replace(mark, token, runfile.DigestOf(token)[:runfile.TokenSize], 1),
		"a part":         mark[:len(mark)-2],
		"no code":        strings.Replace(mark, " 000", " +00", 1),
		"too big a code": strings.Replace(mark, " 000", " 256", 1),
		"no time":        strings.Replace(mark, " 00000", " -0000", 1),
		"without a nul":  mark[1:],
	} {
		e := runfile.Ending{Digest: runfile.DigestOf(token)}
		got := string(e.Take([]byte(said)))
		if _, ended := e.Ended(); got+string(e.Rest()) != said || ended {
			t.Errorf("%s: %q, %t", name, got, ended)
		}
	}
	var unknown runfile.Ending
	if got := unknown.Take([]byte(mark)); string(got) != mark {
		t.Errorf("without a digest: %q", got)
	}
}

// TestBothWordsAreOfOneLength: init reads one of them, and no byte after it.
func TestBothWordsAreOfOneLength(t *testing.T) {
	if len(runfile.MarkedRelease) != len(runfile.Release) || runfile.MarkedRelease == runfile.Release || len(rand.Text()) != runfile.TokenSize {
		t.Error("they are not")
	}
}
