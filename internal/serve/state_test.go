package serve

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestAStateOfAnother is for a root that is pointed at the state of a user: its owner could exchange the journal, and the
// directories that a purge removes.
func TestAStateOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories to others: nothing was tried")
	}
	const other = 4242
	s := newShop(t)
	s.must(os.Mkdir(s.config.State, 0o700))
	s.must(os.Chown(s.config.State, other, other))
	run := func() error {
		ctx, stop := context.WithTimeout(t.Context(), patience) // one that takes it would serve
		defer stop()
		return Run(ctx, s.options())
	}
	trial := func() error {
		opened, err := OpenTrial(t.Context(), s.config, s.launchers(), s.options().Log)
		if err == nil {
			s.must(opened.Close())
		}
		return err
	}
	hold := func() error {
		_, err := LockInstallation(t.Context(), s.config.State, "the test")
		return err
	}
	for name, err := range map[string]error{"run": run(), "check": trial(), "purge": hold()} {
		if err == nil || !strings.Contains(err.Error(), "belongs to user 4242") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(s.config.State); err != nil || len(entries) > 0 {
		t.Errorf("something was written there: %v, %v", entries, err)
	}
}
