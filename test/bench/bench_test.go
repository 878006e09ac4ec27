package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/test/attack"
)

const printed = `goos: linux
BenchmarkColdRun/docker-2         	      20	 123456 ns/op	        91.20 ms-ours	       101.0 ms-ours-p95	       103.0 ms-ours-p99	         0.4400 of-docker-run
BenchmarkCrowd/junk_files         	       1	 123456 ns/op	         0.99 of-empty
PASS
`

func TestFiguresAreRead(t *testing.T) {
	cold := series{Bench: "ColdRun/docker", Figures: []figure{
		{Unit: "of-docker-run", Most: 0.4}, {Unit: "ms-ours", Says: "Torno", Bar: true}, {Unit: "ms-that-is-not-there"},
	}}
	got := cold.read(printed).Figures
	want := []Figure{{Unit: "of-docker-run", Value: 0.44, Most: 0.4}, {Unit: "ms-ours", Says: "Torno", Value: 91.2, P95: 101, P99: 103, Bar: true}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got[0].Held() || !got[1].Held() {
		t.Error("0.44 is held against 0.4, and nothing is held against nothing")
	}
	crowd := series{Bench: "Crowd", Figures: []figure{{Case: "junk_files", Unit: "of-empty"}}}
	if got := crowd.read(printed).Figures; len(got) != 1 || got[0].Value != 0.99 {
		t.Errorf("%+v", got)
	}
	var text strings.Builder
	cold.read(printed).write(&text)
	if s := text.String(); !strings.Contains(s, "✗ wanted: at most 0.4") || !strings.Contains(s, "91.2 ms   p95 101.0 ms  p99 103.0 ms") {
		t.Error(s)
	}
}

// TestBenchmarksAreThere: a series names a benchmark by its text.
func TestBenchmarksAreThere(t *testing.T) {
	for _, s := range all {
		name, _, _ := strings.Cut(s.Bench, "/")
		files, err := filepath.Glob(filepath.Join(attack.Root(), s.Package, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "func Benchmark"+name+"(")
		}
		if !found {
			t.Errorf("%s has no Benchmark%s", s.Package, name)
		}
	}
}

// TestThePicturesAreOfTheReport: what the pages show was drawn from the report beside it, whole, and pages show it.
func TestThePicturesAreOfTheReport(t *testing.T) {
	docs := filepath.Join(attack.Root(), "docs")
	report, err := readReport(filepath.Join(docs, "speed.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		drawn := slices.ContainsFunc(s.Figures, func(f figure) bool { return f.Bar || f.Part })
		if drawn && !slices.ContainsFunc(report.Series, func(m Measured) bool { return m.Title == s.Title }) {
			t.Errorf("docs/speed.json is without the series %q, which is drawn: take a new one with make bench", s.Title)
		}
	}
	for _, picture := range []struct{ name, drawn, page string }{
		{"speed.svg", bars(report), filepath.Join(attack.Root(), "README.md")},
		{"speed-roads.svg", roads(report), filepath.Join(docs, "PERFORMANCE.md")},
	} {
		kept, err := os.ReadFile(filepath.Join(docs, picture.name))
		if err != nil {
			t.Fatal(err)
		}
		if string(kept) != picture.drawn {
			t.Errorf("docs/%s is not of docs/speed.json: go run ./test/bench -draw docs/speed.json", picture.name)
		}
		parsePicture(t, picture.name, kept)
		page, err := os.ReadFile(picture.page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), picture.name) {
			t.Errorf("%s does not show %s", picture.page, picture.name)
		}
	}
}

// parsePicture reads a picture to its end as an XML parser does, and demands that something is drawn in it.
func parsePicture(t *testing.T, name string, picture []byte) {
	t.Helper()
	shapes := 0
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("docs/%s: %v", name, err)
		}
		if start, is := token.(xml.StartElement); is && start.Name.Local == "rect" {
			shapes++
		}
	}
	if shapes < 2 { // the paper is one
		t.Errorf("docs/%s draws nothing", name)
	}
}
