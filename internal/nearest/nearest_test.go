package nearest_test

import (
	"strings"
	"testing"

	"torno/internal/nearest"
)

func TestWord(t *testing.T) {
	known := []string{"max_running", "memory", "mounts", "queue"}
	for _, test := range []struct{ word, want string }{
		{"memory", "memory"},
		{"memroy", "memory"}, // two neighbours swapped are one edit
		{"Memory", "memory"},
		{"max-running", "max_running"},
		{"queu", "queue"},
		{"que", ""}, // two edits of three letters are another word
		{"", ""},
		{"network", ""},
		{strings.Repeat("m", 1<<20), ""},
	} {
		if got := nearest.Word(test.word, known); got != test.want {
			t.Errorf("Word(%.20q) = %q, want %q", test.word, got, test.want)
		}
	}
}

func TestWordTakesTheFirstOfEquals(t *testing.T) {
	if got := nearest.Word("cat", []string{"bat", "hat"}); got != "bat" {
		t.Errorf("got %q, want the first of two that are equally near", got)
	}
}
