package images

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	threats "torno/test/attack"
)

// TestUnpackingStopsAboveTheFloor has a small disk, on which sandboxes would be ended below the floor.
func TestUnpackingStopsAboveTheFloor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: only root mounts a small disk")
	}
	const floor = 24 << 20
	ref := mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": makeImage(t, tarOf(t, file("f", strings.Repeat("x", 48<<20))))})))
	least := func(o Options) (int64, error) {
		disk := t.TempDir()
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
		at, err := os.Open(disk)
		if err != nil {
			t.Fatal(err)
		}
		defer at.Close()
		least, _, _ := freeOn(at)
		o.Dir, o.Limits = filepath.Join(disk, "cache"), Limits{}
		c := openCache(t, o)
		watched := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-watched:
					return
				default:
				}
				if free, _, err := freeOn(at); err == nil {
					least = min(least, free)
				}
			}
		}()
		image, err := c.Get(t.Context(), ref)
		if err == nil {
			image.Close()
		}
		close(watched)
		<-done
		last, _, statErr := freeOn(at)
		return min(least, last), errors.Join(err, statErr)
	}
	trial := threats.Trial{Row: "R5", Where: "the disk's floor", Tried: 1}
	free, err := least(Options{Floor: Floor{Bytes: floor}})
	wants(t, err, NoRoom)
	if free >= floor {
		trial.Held = 1
	}
	free, err = least(Options{})
	trial.Oracle = err == nil && free < floor
	threats.Record(t, trial)
}
