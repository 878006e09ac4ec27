package seccomp

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write numbers.txt anew")

// library is where golang.org/x/sys lies, which takes its numbers from the kernel's headers.
var library = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	return strings.TrimSpace(string(dir)), err
})

var numberLine = regexp.MustCompile(`^\s+SYS_(\w+)\s+= (\d+)$`)

// systemNumbers are all that an architecture has.
func systemNumbers(t *testing.T, arch string) map[string]uint32 {
	t.Helper()
	dir, err := library()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]uint32{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if found := numberLine.FindStringSubmatch(lines.Text()); found != nil {
			number, err := strconv.ParseUint(found[2], 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.ToLower(found[1])] = uint32(number)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%s has %d numbers there", arch, len(all))
	}
	return all
}

// TestNumbers holds the file against what others know, and has all in it that the rules name.
func TestNumbers(t *testing.T) {
	names := map[string]bool{}
	for _, r := range (Filter{}).Rules() {
		for _, name := range r.Names {
			names[name] = true
		}
	}
	head, _, _ := strings.Cut(numbersText, "\naccept ")
	amd64, arm64 := systemNumbers(t, "amd64"), systemNumbers(t, "arm64")
	var want strings.Builder
	want.WriteString(head + "\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		want.WriteString(name)
		for _, numbers := range []map[string]uint32{amd64, arm64} {
			if number, ok := numbers[name]; ok {
				fmt.Fprintf(&want, " %d", number)
			} else {
				want.WriteString(" -")
			}
		}
		want.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile("numbers.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if numbersText != want.String() {
		t.Error("numbers.txt is not what golang.org/x/sys knows of the names in the rules; write it with -update")
	}
}

// TestEveryRuleHasItsNumbers: a name that an architecture does not have is one of a rule that says so.
func TestEveryRuleHasItsNumbers(t *testing.T) {
	for arch := range architectures {
		numbers := systemNumbers(t, arch)
		for _, r := range (Filter{Arch: arch}).Rules() {
			for _, name := range r.Names {
				if _, ok := numbers[name]; ok != (r.Arch == "" || r.Arch == arch) {
					t.Errorf("%s on %s: there %v, and the rule is for %q", name, arch, ok, r.Arch)
				}
			}
		}
	}
	if _, err := numbersOf("riscv64"); err == nil {
		t.Error("an architecture that nobody has thought about has numbers")
	}
}
