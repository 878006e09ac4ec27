package configs

import (
	"slices"
	"strings"
	"testing"
)

func TestChanges(t *testing.T) {
	const before = `version: 1
state: /var/lib/torno
outboxes:
  main: {dir: /srv/outbox, allow: [/srv/outbox/workspaces], max_running: 2}
  old: {dir: /srv/old, allow: [/srv/old/workspaces]}
`
	after := strings.NewReplacer("max_running: 2", "max_running: 3", "[/srv/outbox/workspaces]", "[/srv/outbox/workspaces, /srv/more]").Replace(before)
	after = after[:strings.Index(after, "  old:")] + "shutdown: {running: keep}\n"
	changes := given(t, before).Changes(given(t, after))
	for _, want := range []string{
		"outboxes.main.max_running: 2 → 3",
		"outboxes.main.allow: [/srv/outbox/workspaces] → [/srv/outbox/workspaces, /srv/more]",
		"outboxes.old.dir: /srv/old → (none)",
		"shutdown.running: drain → keep",
	} {
		if !slices.Contains(changes, want) {
			t.Errorf("no %q among %q", want, changes)
		}
	}
	if same := given(t, before).Changes(given(t, before)); len(same) != 0 {
		t.Errorf("a configuration differs from itself: %q", same)
	}
}

func given(t *testing.T, text string) Config {
	t.Helper()
	c, _, err := readOnFour("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
