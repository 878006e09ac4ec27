package images

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

const childDir, childRef, childDo = "IMAGES_TEST_DIR", "IMAGES_TEST_REF", "IMAGES_TEST_DO"

// TestMain is also what the child processes of these tests do.
func TestMain(m *testing.M) {
	if os.Getenv(childDo) != "" {
		if err := child(os.Getenv(childDo)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Setenv("DOCKER_CONFIG", "/nonexistent")
	goleak.VerifyTestMain(m)
}

// child gets an image and holds it, or stops in the midst of it, until it is killed.
func child(do string) error {
	stop := func(where string) {
		fmt.Println(where)
		select {}
	}
	o := Options{Dir: os.Getenv(childDir)}
	if do == "stop" {
		o.Progress = func(string, int64, int64) { stop("stopped") }
	}
	ctx := context.Background()
	cache, err := Open(ctx, o)
	if err != nil {
		return err
	}
	ref, err := Parse(os.Getenv(childRef))
	if err != nil {
		return err
	}
	image, err := cache.Get(ctx, ref)
	if err != nil {
		return err
	}
	if do == "hold" {
		stop("held")
	}
	image.Close()
	if _, err := cache.Collect(ctx, 0); err != nil {
		return err
	}
	_, err = os.Lstat(image.Dir)
	fmt.Println("collected:", errors.Is(err, fs.ErrNotExist))
	return nil
}

// start starts a child and waits for its first line.
func start(t *testing.T, dir, ref, do string, as *syscall.Credential) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{childDir + "=" + dir, childRef + "=" + ref, childDo + "=" + do, "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(line)
}
