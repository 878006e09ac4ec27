package docker

import (
	"slices"
	"strings"
	"testing"

	"torno/sandbox"
)

func TestGuaranteesSayWhy(t *testing.T) {
	l := &Launcher{}
	l.facts.Limits = map[sandbox.GuaranteeKey]bool{sandbox.MemoryLimit: true}
	byHandle, byPath := l.guarantee(""), l.guarantee("there is a reason")
	for _, key := range sandbox.GuaranteeKeys {
		if byHandle[key].By == "" || byPath[key].By == "" {
			t.Errorf("nothing is said of %s", key)
		}
	}
	missing := byPath.Missing(sandbox.GuaranteeKeys)
	want := []sandbox.GuaranteeKey{
		sandbox.CPULimit, sandbox.KernelIsolation, sandbox.MountsByHandle, sandbox.OwnIdentity, sandbox.PidsLimit, sandbox.Sockets, sandbox.SwapLimit,
	}
	if slices.Sort(want); !slices.Equal(missing, want) {
		t.Errorf("missing are %v, want %v", missing, want)
	}
	l.shut = true
	for _, byPath := range []string{"", "there is a reason"} {
		if g := l.guarantee(byPath)[sandbox.Sockets]; !g.Enforced {
			t.Errorf("where the kernel keeps a child from sockets, by path (%q), is said %v", byPath, g)
		}
	}
	if !strings.Contains(byPath[sandbox.MountsByHandle].By, "there is a reason") || !byHandle[sandbox.OwnIdentity].Enforced {
		t.Errorf("by path %v, by handle %v", byPath[sandbox.MountsByHandle], byHandle[sandbox.OwnIdentity])
	}
}
