//go:build linux

package initproc

import (
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	good := identity{pid: 1, ids: []int{5, 5, 5, 7, 7, 7}, noNewPrivs: true, boundingEmpty: true}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for says, spoil := range map[string]func(*identity){
		"process 1":      func(id *identity) { id.pid = 2 },
		"root's":         func(id *identity) { id.ids = append(id.ids, 0) },
		"a capability":   func(id *identity) { id.capabilities = 1 << 40 },
		"bounding set":   func(id *identity) { id.boundingEmpty = false },
		"no_new_privs":   func(id *identity) { id.noNewPrivs = false },
		"user or group ": func(id *identity) { id.ids[3] = 0 },
	} {
		id := good
		id.ids = append([]int(nil), good.ids...)
		spoil(&id)
		if err := id.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it does not say %q", err, says)
		}
	}
}

// TestReadIdentity runs as the user of the test, which is never process 1 of a sandbox.
func TestReadIdentity(t *testing.T) {
	id, err := readIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if len(id.ids) < 6 || id.check() == nil {
		t.Errorf("%+v", id)
	}
}
