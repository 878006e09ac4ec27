package configs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/sandbox/launchers"
)

// TestWallsCannotBeAccepted: limits are all that an operator can do without.
func TestWallsCannotBeAccepted(t *testing.T) {
	const rest = "version: 1\nstate: /s\noutboxes:\n  o: {dir: /srv/o, allow: [/srv/o/w]}\n"
	for _, key := range sandbox.GuaranteeKeys {
		c, _, err := readOnFour("c.yaml", []byte("accept: ["+string(key)+"]\n"+rest))
		if taken := err == nil; taken != slices.Contains(sandbox.Acceptable, key) {
			t.Errorf("%s is accepted: %v, %v", key, taken, err)
		}
		if err == nil && !slices.Equal(c.Accept, []sandbox.GuaranteeKey{key}) {
			t.Errorf("%s became %v", key, c.Accept)
		}
	}
	_, _, err := localOn(host{os.Getenv, 4}, launchers.All, LocalOptions{Dir: t.TempDir() + "/o", State: "/s", Accept: []string{"syscall_filter"}})
	if err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a wall is accepted by a flag: %v", err)
	}
}
