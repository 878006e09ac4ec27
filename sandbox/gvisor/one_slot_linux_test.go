package gvisor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/gvisor/boxes"
	"torno/sandbox/gvisor/keeper"
	"torno/sandbox/local"
)

// TestTheNewestBoxKeepsTheSlot: the watcher was killed while it removed the older box, and the newer one got its slot.
func TestTheNewestBoxKeepsTheSlot(t *testing.T) {
	for name, mark := range map[string]string{"created": "", "lost": "started", "over": "end.json"} {
		t.Run(name, func(t *testing.T) {
			options := Options{Options: local.Options{Installation: "0123456789abcdef", StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}}
			l := newLauncher(options)
			if err := l.boxes.Make(); err != nil {
				t.Fatal(err)
			}
			slots, err := mounts.OpenSlots(l.slotsDir(), 4, false)
			if err != nil {
				t.Fatal(err)
			}
			l.slots = slots
			older, newer := "1"+strings.Repeat("0", 31), strings.Repeat("f", 32) // the older one's name comes first
			for i, id := range []string{older, newer} {
				r := boxes.Record{Sandbox: sandbox.SandboxID(id), Slot: 1, Made: time.Unix(int64(1000+i), 0)}
				if err := l.boxes.Put(r, struct{}{}, keeper.Order{}); err != nil {
					t.Fatal(err)
				}
			}
			if mark != "" {
				if err := os.WriteFile(filepath.Join(l.boxes.Path(older), mark), []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if l.held[newer].slot == nil || l.held[older].slot != nil {
				t.Errorf("the newer box holds %v, the older one %v", l.held[newer].slot, l.held[older].slot)
			}
			if err := l.discard(boxes.Record{Sandbox: sandbox.SandboxID(older), Slot: 1}); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(l.slotsDir(), "1")); err != nil {
				t.Errorf("the older one's removal took the newer one's slot: %v", err)
			}
		})
	}
}
