package trust

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTrustedUsersLeadThere loosens each thing on the way, and sees it refused for that alone.
func TestOnlyTrustedUsersLeadThere(t *testing.T) {
	base := filepath.Join(t.TempDir(), "srv")
	place := filepath.Join(base, "images", "root")
	must(t, os.MkdirAll(place, 0o755))
	must(t, os.Symlink("images", filepath.Join(base, "link")))
	for what, c := range map[string]struct {
		path    string
		mode    os.FileMode
		uid     int
		gid     int
		refused string
	}{
		"as it is":                        {base, 0o755, 0, 0, ""},
		"everybody may write it":          {place, 0o757, 0, 0, "can be written by others"},
		"everybody may write above it":    {base, 0o757, 0, 0, "can be written by others"},
		"a sticky one keeps what is ours": {base, os.ModeSticky | 0o777, 0, 0, ""},
		"the place itself is sticky":      {place, os.ModeSticky | 0o777, 0, 0, "can be written by others"},
		"a group may write above it":      {base, 0o775, 0, 4711, "can be written by others"},
		"the owner's own group may write": {base, 0o775, 0, 0, ""},
		"it is another user's":            {place, 0o755, 4711, 0, "belongs to user 4711"},
		"what is above is another user's": {base, 0o755, 4711, 0, "belongs to user 4711"},
	} {
		if os.Geteuid() != 0 && c.uid+c.gid > 0 {
			continue // only root gives files away
		}
		must(t, os.Chown(c.path, cmp.Or(c.uid, os.Geteuid()), cmp.Or(c.gid, os.Getegid())))
		must(t, os.Chmod(c.path, c.mode))
		err := Places().Check(place)
		if c.refused == "" && err != nil || c.refused != "" && !refusedFor(err, c.path, c.refused) {
			t.Errorf("%s: %v", what, err)
		}
		must(t, os.Chown(c.path, os.Geteuid(), os.Getegid()))
		must(t, os.Chmod(c.path, 0o755))
	}
	link := filepath.Join(base, "link", "root")
	if err := Places().Check(link); !refusedFor(err, filepath.Join(base, "link"), "is a link") {
		t.Errorf("through a link: %v", err)
	}
	if _, err := Places().Open(link); !refusedFor(err, filepath.Join(base, "link"), "is a link") {
		t.Errorf("opened through a link: %v", err)
	}
	held, err := Places().Open(place)
	must(t, err)
	defer held.Close()
	if _, err := Places().Open(filepath.Join(base, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func refusedFor(err error, path, what string) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.Path == path && strings.Contains(refused.What, what)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
