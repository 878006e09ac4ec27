package names

import (
	"reflect"
	"strings"
	"testing"

	"torno/sandbox"
)

func TestNames(t *testing.T) {
	n := Naming{"0123456789abcdef", "/var/lib/torno"}
	id := sandbox.SandboxID(strings.Repeat("ab", 16))
	if got := n.Container(id); got != "torno-01234567-abababababababababab" {
		t.Errorf("a sandbox's container is %s", got)
	}
	labels := n.SandboxLabels(id, "p", 7)
	h, err := n.Handle("id", labels)
	if want := (sandbox.Handle{Launcher: "docker", ID: "id", Sandbox: id, Slot: 7}); err != nil || !reflect.DeepEqual(h, want) {
		t.Errorf("handle %+v, %v", h, err)
	}
	if len(labels) != 6 || labels[LabelState] != "/var/lib/torno" {
		t.Errorf("a container has the labels %v", labels)
	}
	before := n.SandboxLabels(id, "p", 7)
	delete(before, LabelSandbox)
	before[labelBefore] = string(id)
	if h, err := n.Handle("id", before); err != nil || h.Sandbox != id || Holds(before) || !Holds(labels) {
		t.Errorf("of the first version: %+v, %v, holds %t", h, err, Holds(before))
	}
	for what, spoil := range map[string]func(map[string]string){
		"another installation": func(l map[string]string) { l[LabelInstallation] = "fedcba9876543210" },
		"a role":               func(l map[string]string) { l[LabelSandbox] = RoleTrial },
		"no slot":              func(l map[string]string) { delete(l, LabelSlot) },
	} {
		spoiled := n.SandboxLabels(id, "p", 7)
		spoil(spoiled)
		if h, err := n.Handle("id", spoiled); err == nil {
			t.Errorf("%s: %+v", what, h)
		}
	}
}
