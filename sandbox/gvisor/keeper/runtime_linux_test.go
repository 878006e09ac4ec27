package keeper

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	tests "torno/test/wait"
)

// standIn is a runtime: `run SCRIPT` starts a shell as the sentry and ends, as runsc does. The other words are how a runtime
// can go wrong.
func standIn(args []string) int {
	what, script := args[0], args[len(args)-1]
	switch what {
	case "run":
		return leaveBehind(script, func(pid int) string { return strconv.Itoa(pid) + "\n" })
	case "lie": // names another than it has started
		return leaveBehind("exec sleep 86321", func(int) string { return script })
	case "say-nothing":
		return leaveBehind("exec sleep 86321", nil)
	case "fail":
		fmt.Fprintln(os.Stderr, "output of a runtime that fails")
		leaveBehind("exec sleep 86321", nil)
		if err := os.WriteFile("runtime.log", []byte(script), 0o600); err != nil {
			return 98
		}
		return 7
	case "hang":
		if err := os.WriteFile("hangs", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return 98
		}
		leaveBehind("exec sleep 86321", nil)
		select {}
	case "yes": // as an agent
		return yes(script)
	case "descriptors":
		return leaveBehind("ls -l /proc/self/fd; grep FDSize /proc/self/status; exec sleep 0.01", func(pid int) string { return strconv.Itoa(pid) })
	}
	return 99
}

func leaveBehind(script string, pidFile func(int) string) int {
	command := exec.Command("/bin/bash", "-c", script)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		return 98
	}
	if pidFile != nil {
		if err := os.WriteFile(PidName, []byte(pidFile(command.Process.Pid)), 0o600); err != nil {
			return 98
		}
	}
	return 0
}

// yes writes so many MiB in which every byte can be told.
func yes(mebibytes string) int {
	n, err := strconv.Atoi(mebibytes)
	if err != nil {
		return 98
	}
	if _, err := io.Copy(os.Stdout, io.LimitReader(&counting{}, int64(n)<<20)); err != nil {
		return 98
	}
	return 0
}

// counting is a stream whose every four bytes are the number of their place.
type counting struct{ at uint32 }

func (c *counting) Read(p []byte) (int, error) {
	n := len(p) / 4 * 4
	for i := 0; i < n; i += 4 {
		p[i], p[i+1], p[i+2], p[i+3] = byte(c.at>>24), byte(c.at>>16), byte(c.at>>8), byte(c.at)
		c.at++
	}
	return n, nil
}

// living are the processes that have a text in their command line.
func living(text string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		line, readErr := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && readErr == nil && pid != os.Getpid() && bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isAlive says whether a process is there and no zombie.
func isAlive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// waitUntil is for what another process does.
func waitUntil(cond func() bool) bool {
	for deadline := time.Now().Add(tests.Patience); !cond(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// apart is how the launcher starts a keeper.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
