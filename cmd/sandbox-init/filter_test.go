//go:build linux

package main_test

import (
	"strings"
	"testing"

	"torno/internal/runfile"
)

// TestEverybodyIsFiltered: init, in all of its threads, and the agent.
func TestEverybodyIsFiltered(t *testing.T) {
	r := newBox(t, `cat /proc/1/task/*/status /proc/self/status | grep "^Seccomp:" | sort -u; ls /proc/1/task | wc -l`).run(t)
	r.exits(t, 0)
	seen := strings.Fields(r.stdout)
	if len(seen) != 3 || seen[1] != "2" || seen[2] < "2" && len(seen[2]) == 1 {
		t.Errorf("kinds of filters, and number of threads: %q", seen)
	}
}

// TestAgentIsHeldBack does what the filter lets pass, too, so that a refusal means something.
func TestAgentIsHeldBack(t *testing.T) {
	r := newBox(t, `echo x >file; chmod 755 file && chmod 4755 file; chmod 2755 file; ls -l file | cut -c1-10
		fallocate -l 4096 file; fallocate -p -l 1 file && unshare -U true; mknod fifo p && echo made`).run(t)
	said := r.agentSaid(t)
	if r.stdout != "-rwxr-xr-x\nmade\n" || r.status.ExitStatus() != runfile.ExitFor(0) {
		t.Errorf("status %#x, stdout %q", r.status, r.stdout)
	}
	for _, refusal := range []string{"changing permissions of 'file': Operation not permitted", "fallocate failed: Operation not supported", "unshare failed: Operation not permitted"} {
		if !strings.Contains(said, refusal) {
			t.Errorf("%q does not say %q", said, refusal)
		}
	}
}
