package inside

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"torno/test/house"
	"torno/test/wait"
)

// tests are some of a test binary.
type tests struct {
	program, pattern string
	skips            []string // those that may be
	user             uint32
	group            string // the control group that they begin in; "" is our own
	own              bool   // they see no other, as in a container
	env              []string
}

var outcome = regexp.MustCompile(`(?m)^\s*--- ([A-Z]+): (\S+)`)

// run runs tests, of which some have to pass and none but those that may be is skipped.
func run(t *testing.T, s tests) {
	t.Helper()
	out, err := start(t, s)
	passed := 0
	for _, found := range outcome.FindAllStringSubmatch(out, -1) {
		switch verdict, name := found[1], found[2]; {
		case verdict == "PASS":
			passed++
		case verdict == "SKIP" && slices.Contains(s.skips, name):
		default:
			t.Errorf("%s: %s", name, verdict)
		}
	}
	if err != nil || passed == 0 || t.Failed() {
		t.Errorf("%d have passed: %v\n%s", passed, err, out)
	}
}

func start(t *testing.T, s tests) (string, error) {
	t.Helper()
	command := exec.Command(house.Program(s.program), "-test.v", "-test.run="+s.pattern)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), s.env...)
	command.SysProcAttr = &syscall.SysProcAttr{}
	if s.user != 0 {
		home := filepath.Join(house.OpenDir(t), "home")
		must(t, os.Mkdir(home, 0o700))
		must(t, os.Chown(home, int(s.user), int(s.user)))
		command.Dir = home
		command.Env = append(command.Env, "HOME="+home, "TMPDIR="+home)
		command.SysProcAttr.Credential = &syscall.Credential{Uid: s.user, Gid: s.user}
	}
	if s.own {
		command.Path, command.Args = "/proc/self/exe", append([]string{container}, command.Args...)
	}
	if s.group != "" {
		dir, err := os.Open(s.group)
		must(t, err)
		defer dir.Close()
		command.SysProcAttr.UseCgroupFD, command.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

// eventually polls a condition until it holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	wait.Until(t, what, holds)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
