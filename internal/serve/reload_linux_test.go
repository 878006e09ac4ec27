package serve

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/sandbox/launchers"
)

// TestAReloadObeysNoOtherUser (H25): the operator's configuration came to lie in a user's directory, who writes one of her own.
// The reload refuses it, says why, and the earlier one is served on.
func TestAReloadObeysNoOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root gives directories away")
	}
	s := newShop(t)
	hers := filepath.Join(s.dir, "hers")
	file := filepath.Join(hers, "watcher.yaml")
	s.must(os.Mkdir(hers, 0o755))
	put := func(running string) {
		text := strings.NewReplacer("STATE", s.config.State, "BOX", s.config.Outboxes[0].Dir, "NAME", s.config.Outboxes[0].Name, "N", running).Replace(
			"version: 1\nstate: STATE\nmax_running: N\nprofiles: {default: {sandbox: docker}}\noutboxes: {NAME: {dir: BOX, allow: [BOX/workspaces]}}\n")
		s.must(os.WriteFile(file, []byte(text), 0o600))
	}
	put("3")
	read := func() (configs.Config, error) {
		c, _, err := configs.Load(launchers.All, file)
		return c, err
	}
	first, err := read()
	s.must(err)
	s.config = first
	ended := s.reloads(read)
	s.must(os.Chown(hers, user, user))
	s.must(os.Rename(file, file+".operator"))
	put("77")
	s.must(os.Chown(file, user, user))
	s.signals <- syscall.SIGHUP
	s.eventually("the reload is refused", func() bool { return strings.Contains(s.said.String(), "another user could replace the configuration") })
	if strings.Count(s.said.String(), "msg=serving ") != 1 {
		t.Errorf("what she wrote is served:\n%s", &s.said)
	}
	s.ask("s1", "echo served on")
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("under the earlier configuration: %+v", r)
	}
	s.must(os.Chown(hers, 0, 0))
	s.must(os.Rename(file+".operator", file))
	put("4")
	s.signals <- syscall.SIGHUP
	s.eventually("it is read where it is held", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	s.stop(ended)
}
