package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// picky is an engine whose runtime makes a sandbox only where a shell's condition holds, which finds the sandbox's
// configuration as $config.
func picky(t *testing.T, condition string) *house.House {
	t.Helper()
	t.Parallel()
	runtime := filepath.Join(t.TempDir(), "picky")
	script := fmt.Sprintf(`#!/bin/sh
for arg; do [ "$was" = --bundle ] && config=$arg/config.json; was=$arg; done
case " $* " in *" create "*) %s || { echo "openat2: function not implemented" >&2; exit 1; } ;; esac
exec runc "$@"
`, condition)
	if err := os.WriteFile(runtime, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	engine := house.NewPrivate(t, house.PrivatePlan{Flags: []string{"--add-runtime", "picky=" + runtime, "--default-runtime", "picky"}})
	return house.New(t, house.Plan{Engine: &engine.Engine, Host: engine.Host()})
}

// makesSetID makes a set-id file as only openat2 can under a filter that sees modes.
const makesSetID = `python3 -c '
import ctypes, struct
how = struct.pack("QQQ", 0o101, 0o4755, 0)
fd = ctypes.CDLL(None).syscall(437, -100, b"made", how, len(how))
raise SystemExit(0 if fd >= 0 else 3)'`

// TestARuntimeThatNeedsOpenat2 has it, since the engine's part of the filter lets it through. The child has not.
func TestARuntimeThatNeedsOpenat2(t *testing.T) {
	h := picky(t, `grep -q '"openat2"' "$config"`)
	h.Want(h.Run(house.Ask{ID: "s1", Task: makesSetID}), delegation.StatusError, delegation.ReasonExited, 3)
}
