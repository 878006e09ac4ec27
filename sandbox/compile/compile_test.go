package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// TestRefusals reads testdata/refusals: each file is one way to be turned down.
func TestRefusals(t *testing.T) {
	for _, name := range fixtures(t, "refusals") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			f, spec, warnings, err := compileFile(t, name)
			var got *delegation.Refusal
			if !errors.As(err, &got) {
				t.Fatalf("was not refused: error %v, spec\n%s", err, indented(t, spec))
			}
			seen := refusal{got.Code, got.Field, got.Text, got.Hint}
			if *update {
				f.Refusal = &seen
				writeJSON(t, name, f)
			}
			if f.Refusal == nil || seen != *f.Refusal {
				t.Errorf("got\n%swant\n%s", indented(t, seen), indented(t, f.Refusal))
			}
			if got.Hint == "" {
				t.Error("the refusal does not say the next step")
			}
			if len(warnings) != 0 || spec.Digest() != (sandbox.Spec{}).Digest() {
				t.Errorf("a refusal came with a spec or warnings: %v, %v", spec, warnings)
			}
		})
	}
}

// TestSpecs compares each request of testdata/specs with the spec and the warnings beside it.
func TestSpecs(t *testing.T) {
	for _, name := range fixtures(t, "specs") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			_, spec, warnings, err := compileFile(t, name)
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			golden := strings.TrimSuffix(name, ".json") + ".golden"
			got := describe(t, spec, warnings)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// describe is a spec with its files as text. The environment that all share has a test of its own.
func describe(t *testing.T, spec sandbox.Spec, warnings []string) []byte {
	t.Helper()
	var out bytes.Buffer
	files := spec.Files
	spec.Files, spec.Process.Env = nil, nil
	out.Write(indented(t, spec))
	for _, file := range files {
		if file.Name != "gitconfig" {
			fmt.Fprintf(&out, "-- %s, %d bytes --\n%.1000s\n", file.Name, len(file.Content), file.Content)
		}
	}
	for _, warning := range warnings {
		out.WriteString("warning: " + warning + "\n")
	}
	return out.Bytes()
}

func TestDigestTellsSpecsApart(t *testing.T) {
	_, spec, _, err := compileFile(t, "testdata/specs/shell.json")
	if err != nil {
		t.Fatal(err)
	}
	digest := spec.Digest()
	if len(digest) != 64 || digest != spec.Digest() {
		t.Errorf("the digest is not stable: %s", digest)
	}
	spec.Mounts[0].Workspace = !spec.Mounts[0].Workspace
	if spec.Digest() == digest {
		t.Error("another spec has the same digest")
	}
}
