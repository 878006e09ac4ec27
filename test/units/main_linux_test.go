package units

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/test/house"
)

// What a watcher's environment names: the walls as JSON, and the files through which it enters control groups.
const (
	wallsAre  = "TORNO_TEST_WALLS"
	groupFile = "TORNO_TEST_GROUP"
)

// proper is the name of the real watcher, for which this program stands in.
const proper = "watcher-proper"

// TestMain is also the helper, by the name of the watcher: it enters the walls and executes the real one, or, where it is itself
// in the real one's place, tries what can still be done.
func TestMain(m *testing.M) {
	switch dir, name := filepath.Split(os.Args[0]); name {
	case "watcher":
		fmt.Fprintln(os.Stderr, execute(dir+proper))
		os.Exit(1)
	case proper:
		os.Exit(probe())
	case gatewayService:
		fmt.Fprintln(os.Stderr, executeAs(os.Getenv(gatewayIs)))
		os.Exit(1)
	}
	os.Exit(house.Main(m))
}

// execute becomes another program: a service with the environment of one, behind the walls that are asked for, and all else as
// it is.
func execute(program string) error {
	arguments, environment := append([]string{program}, os.Args[1:]...), os.Environ()
	text := os.Getenv(wallsAre)
	if len(os.Args) < 2 || os.Args[1] != "run" && os.Args[1] != "check" || text == "" {
		return syscall.Exec(program, arguments, environment)
	}
	runtime.LockOSThread()
	var walls Walls
	if err := json.Unmarshal([]byte(text), &walls); err != nil {
		return err
	}
	if err := enterGroup(os.Getenv(groupFile)); err != nil {
		return err
	}
	if err := walls.Enter(); err != nil {
		return err
	}
	return syscall.Exec(program, arguments, slices.DeleteFunc(environment, isOurs))
}

// isOurs says whether a variable is one that a service would not have.
func isOurs(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return !slices.Contains([]string{"PATH", "DOCKER_HOST", "NOTIFY_SOCKET"}, name)
}

func enterGroup(file string) error {
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte("0"), 0)
}
