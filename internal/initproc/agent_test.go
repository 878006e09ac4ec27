//go:build linux

package initproc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"first/plain": 0o644, "second/plain": 0o755, "first/only": 0o644, "first/both": 0o755, "second/both": 0o755} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	t.Chdir(second)
	env := []string{"X=1", "PATH=:.:" + first + ":" + second, "Y=2"}
	for _, test := range []struct {
		name string
		env  []string
		path string
		code int
	}{
		{"both", env, first + "/both", 0},
		{"plain", env, second + "/plain", 0},
		{"only", env, "", 126},
		{"none", env, "", 127},
		{"both", []string{"PATH=.:"}, "", 127},
		{"both", nil, "", 127},
		{"./both", nil, "./both", 0},
		{first + "/only", nil, first + "/only", 126},
		{first, nil, first, 126},
	} {
		got, cannot := lookUp(test.name, test.env)
		code := 0
		if cannot != nil {
			code = cannot.code
		}
		if got != test.path || code != test.code {
			t.Errorf("%s in %q: %q, %d", test.name, test.env, got, code)
		}
	}
}

func TestExplainWhatIsTooBig(t *testing.T) {
	big := strings.Repeat("x", maxArgument())
	for says, test := range map[string][2][]string{
		"argument 1 has":              {{"a", big}, nil},
		`the environment's "BIG" has`: {{"a", big[1:]}, {"BIG=" + big}},
		"have 5 bytes together":       {{"a"}, {"B="}},
	} {
		cannot := explain("/bin/x", test[0], test[1], unix.E2BIG)
		if cannot.code != 126 || !strings.Contains(cannot.why, says) {
			t.Errorf("%+v; it does not say %q", cannot, says)
		}
	}
	if cannot := explain("/bin/x", nil, nil, unix.EAGAIN); cannot.code != 126 || !strings.Contains(cannot.why, "limit of processes") {
		t.Errorf("%+v", cannot)
	}
}
