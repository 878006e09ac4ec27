package patch

import (
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// asNobody takes root's right to read everything from the test's thread, and returns what gives it back.
func asNobody(s *scene) func() {
	s.Helper()
	err := filepath.Walk(s.dir, func(path string, _ os.FileInfo, err error) error {
		return errorsOf(err, os.Lchown(path, 65534, 65534))
	})
	s.must(err)
	for dir := filepath.Dir(s.dir); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		s.must(os.Chmod(dir, 0o755))
	}
	runtime.LockOSThread()
	s.must(unix.Setfsuid(65534))
	return func() {
		_ = unix.Setfsuid(0)
		runtime.UnlockOSThread()
	}
}
