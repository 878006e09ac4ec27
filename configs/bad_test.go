package configs

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// TestBadConfigurations reads testdata/bad.txtar: files that do not load, and the exact text of each error.
func TestBadConfigurations(t *testing.T) {
	emptyEnvironment(t)
	const name = "testdata/bad.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		file, want := archive.Files[i], &archive.Files[i+1]
		t.Run(strings.TrimSuffix(file.Name, ".yaml"), func(t *testing.T) {
			_, _, err := readOnFour("c.yaml", file.Data)
			var problems *Error
			if !errors.As(err, &problems) || len(problems.Problems) == 0 {
				t.Fatalf("loads: %v", err)
			}
			got := problems.Error() + "\n"
			if *update {
				want.Data = []byte(got)
			}
			if got != string(want.Data) {
				t.Errorf("got\n%swant\n%s", got, want.Data)
			}
		})
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
