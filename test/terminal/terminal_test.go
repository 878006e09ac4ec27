package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func file(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func recorded(t *testing.T) []event {
	t.Helper()
	session, err := read(strings.NewReader(file(t, recording)))
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestThePictureIsOfTheRecording: the same recording gives the same bytes, which the README shows.
func TestThePictureIsOfTheRecording(t *testing.T) {
	picture, err := draw(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	if picture != file(t, "docs/terminal.svg") {
		t.Error("docs/terminal.svg is not what is drawn of the recording: go run ./test/terminal draw > docs/terminal.svg")
	}
	if !strings.Contains(file(t, "README.md"), "docs/terminal.svg") {
		t.Error("the README does not show the picture")
	}
}

// TestTheRecordingIsOfTheScript: who changes the script records again.
func TestTheRecordingIsOfTheScript(t *testing.T) {
	var typed strings.Builder
	for _, e := range recorded(t) {
		if e.Types != "" {
			typed.WriteString(e.Types + "\n")
		}
	}
	if typed.String() != file(t, script) {
		t.Errorf("the recording is of another session than session.sh:\n%s", &typed)
	}
}

// TestThePictureIsSafe: it is well-formed, and has nothing that runs or that is fetched.
func TestThePictureIsSafe(t *testing.T) {
	picture, err := draw([]event{{Types: "echo '<script>'"}, {After: 5, Says: "<script>&\"\r\n"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{picture, file(t, "docs/terminal.svg")} {
		elements := xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := elements.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if start, ok := token.(xml.StartElement); ok && !strings.Contains("svg title style rect text", start.Name.Local) {
				t.Errorf("it has the element %s", start.Name.Local)
			}
		}
		if strings.Contains(text, "url(") || strings.Contains(text, "href") || strings.Contains(text, "@import") {
			t.Error("it fetches something")
		}
	}
}

func TestASessionIsPlayed(t *testing.T) {
	s, err := play([]event{
		{Types: "ab"},
		{After: 10, Says: "\x1b[31mred\x1b[0m " + strings.Repeat("x", columns) + "\r\n"},
		{After: 2000, Says: "late"},
		{Types: "# done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	entered := before + 2*perKey + enter
	again := entered + 2000 + behind
	want := []piece{
		{0, 0, 0, "prompt", "$", false},
		{before, 0, 2, "typed", "ab", true},
		{entered + 10, 1, 0, "red", "red", false},
		{entered + 10, 1, 3, "", " " + strings.Repeat("x", columns-4), false},
		{entered + 10, 2, 0, "", "xxxx", false},
		{entered + 2000, 3, 0, "", "late", false},
		{again, 4, 0, "prompt", "$", false},
		{again + before, 4, 2, "remark", "# done", true},
	}
	if len(s.pieces) != len(want) {
		t.Fatalf("played %+v", s.pieces)
	}
	for i := range want {
		if s.pieces[i] != want[i] {
			t.Errorf("played %+v, want %+v", s.pieces[i], want[i])
		}
	}
	if s.now != again+before+6*perKey+enter+rest {
		t.Errorf("it ends after %d ms", s.now)
	}
}

// TestWhatATerminalWouldDoOtherwise is not drawn wrongly, but refused.
func TestWhatATerminalWouldDoOtherwise(t *testing.T) {
	for name, says := range map[string]string{"a cursor": "\x1b[2A", "a colour": "\x1b[95m", "an overwritten line": "one\rtwo", "a tab": "a\tb"} {
		if _, err := play([]event{{Types: "x"}, {Says: says}}); err == nil {
			t.Errorf("%s was drawn", name)
		}
	}
	if _, err := play([]event{{Types: strings.Repeat("x", columns)}}); err == nil {
		t.Error("a typed line that is too long was drawn")
	}
	for _, text := range []string{"", "{}", `{"says":"before anything was typed"}`, `{"types":"a","says":"b"}`, `{"types":"a","colour":1}`, `{"types":"a"} x`} {
		if _, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a recording", text)
		}
	}
}
