package serve

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/test/swap"

	"golang.org/x/sys/unix"

	"torno/test/attack"
	"torno/test/missing"
	"torno/watcher/hang"
)

// TestAnExchangeWithoutEndClosesItsOwnOutbox (H26): a parent exchanges her outbox, or what leads there, with a link to another's or with a FIFO,
// as fast as she can, while the host looks and opens. Nothing waits for her, no start fails, and no other outbox is closed or taken for hers.
func TestAnExchangeWithoutEndClosesItsOwnOutbox(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root gives a link to another user")
	}
	const her, looks = 4711, 200
	trial := attack.Trial{Row: "H26", Where: "fake, exchanges", Oracle: true}
	for what, bait := range map[string]func(a, b string) (of, with string, err error){
		"the outbox with a link": func(a, b string) (of, with string, err error) {
			return a, a + ".link", os.Symlink(b, a+".link")
		},
		"what leads there with a link": func(a, b string) (of, with string, err error) {
			return filepath.Dir(a), filepath.Dir(a) + ".link", os.Symlink(filepath.Dir(b), filepath.Dir(a)+".link")
		},
		"the outbox with a FIFO": func(a, _ string) (of, with string, err error) {
			return a, a + ".fifo", unix.Mkfifo(a+".fifo", 0o600)
		},
		"a root with a FIFO": func(a, _ string) (of, with string, err error) {
			root := filepath.Join(a, "workspaces")
			return root, root + ".fifo", unix.Mkfifo(root+".fifo", 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShop(t)
			a, b := s.twoParents()
			of, with, err := bait(a, b)
			s.must(errors.Join(err, os.Mkdir(s.config.State, 0o700), os.Lchown(with, her, her), os.Chown(filepath.Dir(a), her, her), os.Chown(a, her, her)))
			stop := swap.Names(t, [2]string{of, with})
			looked := make(chan struct{})
			go func() {
				defer close(looked)
				for range looks {
					options := s.options()
					options.hangs = hang.New(outboxCalls, quiet)
					closed, err := (&host{Options: options}).rehearse(t.Context())
					if err != nil || closed["second"] != nil {
						t.Errorf("the start fails with %v, the other outbox with %v", err, closed["second"])
						return
					}
				}
			}()
			select {
			case <-looked:
			case <-time.After(patience):
				t.Error("the host waits for what a parent has put there")
			}
			stop()
		})
		trial.Tried++
		if !t.Failed() {
			trial.Held++
		}
	}
	attack.Record(t, trial)
}
