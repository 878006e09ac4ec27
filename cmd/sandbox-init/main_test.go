//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// product is the binary as it is delivered; raced is the same program with the race detector in it, "" where that
// cannot be built.
var product, raced string

// productVariable names the product where it is built already, on a machine that builds nothing.
const productVariable = "TORNO_TEST_INIT"

// TestMain builds the product once. A test binary that finds a plan in its environment is not testing: it is on its
// way to become init.
func TestMain(m *testing.M) {
	if plan := os.Getenv(planVariable); plan != "" {
		fmt.Fprintln(os.Stderr, "box:", enter(plan))
		os.Exit(boxFailed)
	}
	if addresses := os.Getenv(agentVariable); addresses != "" {
		if err := connects(addresses); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if product = os.Getenv(productVariable); product != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sandbox-init-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	product = filepath.Join(dir, "sandbox-init")
	if err := build(product, "CGO_ENABLED=0", "-trimpath", "-ldflags=-s -w -X torno/internal/version.Version=v9.8.7"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if raceEnabled {
		raced = filepath.Join(dir, "sandbox-init.race")
		if err := build(raced, "CGO_ENABLED=1", "-race"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

func build(out, env string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Env = append(os.Environ(), env)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
	}
	return nil
}

// needRoot skips where namespaces cannot be made without being root. In CI that is a failure.
func needRoot(t *testing.T) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("CI must run these tests as root: they make real sandboxes for sandbox-init")
	default:
		t.Skip("NOT TESTED: sandbox-init in a real sandbox; run these tests as root")
	}
}

var uids atomic.Int64

// nextUID is a uid that no other test has, so that a box's processes can be found and counted.
func nextUID() int {
	return 1_900_000_000 + os.Getpid()%10_000*1_000 + int(uids.Add(1))
}
