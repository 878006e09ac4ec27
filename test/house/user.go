package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"torno/internal/doctor"
)

// Ordinary is gVisor with a watcher of an ordinary user, which the test makes: without root, in one more group than
// its own, with a home, and with programs that are root's.
const Ordinary = "ordinary"

// ordinary is a user without any right. This machine need not know it.
const ordinary = 54321

// Group is the second group of the ordinary user.
const Group = 54322

// Everybody runs a story as Each does, and once more for an ordinary user.
func Everybody(t *testing.T, story func(t *testing.T, sandbox string)) {
	t.Helper()
	Each(t, story)
	t.Run(Ordinary, func(t *testing.T) { story(t, Ordinary) })
}

// OwnerOf is the owner of a workspace: the user that the story wants, where the watcher may choose.
func (h *House) OwnerOf(wanted int) int {
	if h.user != 0 {
		return h.user
	}
	return wanted
}

// OwnerWith is OwnerOf before there is a house.
func OwnerWith(sandbox string, wanted int) int {
	if sandbox == Ordinary {
		return ordinary
	}
	return wanted
}

// own gives the files that the test has made to the user of the house.
func (h *House) own(path string) {
	h.Helper()
	if h.user != 0 {
		h.Must(os.Lchown(path, h.user, h.user))
	}
}

// Command is a program of ours, run by the user of the house.
func (h *House) Command(program string, args ...string) *exec.Cmd {
	command := exec.Command(Program(program), args...)
	command.Env = append(os.Environ(), h.Env...)
	if h.user != 0 {
		id := uint32(h.user)
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id, Groups: []uint32{Group}}}
		command.Dir = h.Dir
		command.Env = append([]string{"HOME=" + h.Dir, "TMPDIR=" + h.Dir, "PATH=" + os.Getenv("PATH")}, h.Env...)
	}
	if h.plan.Enter != nil {
		h.plan.Enter(command)
	}
	return command
}

// home is the directory with all files of the house.
func (h *House) home() string {
	h.Helper()
	if h.user == 0 {
		return h.TempDir()
	}
	dir := filepath.Join(OpenDir(h), "home")
	h.Must(os.Mkdir(dir, 0o700))
	h.own(dir)
	return dir
}

// OpenDir makes a directory that every user can enter, for as long as the test.
func OpenDir(t testing.TB) string {
	t.Helper()
	dir, err := openDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// openDir makes a directory; the caller removes it. The usual place for temporary files may be root's alone.
func openDir() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "torno-house-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// needOrdinary skips loudly where there can be no ordinary user with sandboxes, and fails in CI.
func needOrdinary(t testing.TB) {
	t.Helper()
	NeedGVisor(t)
	switch why := noOrdinary(); {
	case why == "":
	case os.Getenv("CI") == "true":
		t.Fatal("in CI nothing that matters is skipped:", why)
	default:
		t.Skip("NOT SHOWN HERE:", why)
	}
}

func noOrdinary() string {
	if os.Geteuid() != 0 {
		return "only root can make an ordinary user"
	}
	host := doctor.LookAtHost(os.DirFS("/"))
	if host.UnprivilegedUserns == "0" || host.AppArmorUserns == "1" {
		return "this machine gives ordinary users no namespace to mount in"
	}
	return ""
}

// Owner is the user that owns a file.
func Owner(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
