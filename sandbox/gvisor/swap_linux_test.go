package gvisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox"
)

// TestSwapThatIsNotBoundedIsSeen before the agent runs.
func TestSwapThatIsNotBoundedIsSeen(t *testing.T) {
	h := newHouse(t)
	base := workshop(t)
	l := h.launch(base, "ours")
	if g, err := l.Check(t.Context()); err != nil || !g[sandbox.SwapLimit].Enforced || !g[sandbox.Attested].Enforced {
		t.Skipf("NOT SHOWN HERE: this kernel does not count swap, or nothing is attested: %v", err)
	}
	spec := specOf(base, "", "/bin/true")
	spec.RootFS = sandbox.RootFS{Host: true}
	made, err := l.Create(t.Context(), sandbox.NewSandboxID(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Remove(t.Context(), made); err != nil {
			t.Error(err)
		}
	}()
	if err := l.Start(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Attest(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	o := h.options(base, "ours")
	defer o.Bases.Close()
	group := filepath.Join("torno", string(o.Installation), made.ID)
	file, most := filepath.Join("/sys/fs/cgroup/memory", group, "memory.memsw.limit_in_bytes"), "-1"
	if _, err := os.Stat(file); err != nil {
		file, most = filepath.Join("/sys/fs/cgroup", group, "memory.swap.max"), "max"
	}
	if err := os.WriteFile(file, []byte(most), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Attest(t.Context(), made); err == nil || !strings.Contains(err.Error(), "swap limit") {
		t.Errorf("attested, or not because of swap: %v", err)
	}
}
