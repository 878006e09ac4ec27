package stakpak

import (
	"testing"

	"torno/delegation"
)

func TestModels(t *testing.T) {
	for _, c := range []struct {
		offer         delegation.ProfileOffer
		parent, model string
		ask           bool
	}{
		{delegation.ProfileOffer{Agent: "claude", Model: "claude-opus-5"}, "claude-opus-4-6", "claude-opus-5", false},
		{delegation.ProfileOffer{Agent: "claude"}, "claude-opus-4-6", "claude-haiku-4-5", true},
		{delegation.ProfileOffer{Agent: "codex"}, "", "gpt-5-mini", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "claude-opus-4-6", "claude-haiku-4-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "anthropic/claude-opus-5", "anthropic/claude-haiku-4-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "google/gemini-3-pro", "google/gemini-2.0-flash", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "stakpak/anthropic/claude-opus-5", "stakpak/anthropic/claude-haiku-4-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "github-copilot/claude-opus-5", "github-copilot/claude-haiku-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "google", "google", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "claude-sonnet-4-5", "claude-haiku-4-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "gpt-5", "gpt-5", true},
		{delegation.ProfileOffer{Agent: "massgen"}, "", "", false},
	} {
		if model, ask := models.resolve(c.offer, c.parent); model != c.model || ask != c.ask {
			t.Errorf("%+v below %q: %q %v, want %q %v", c.offer, c.parent, model, ask, c.model, c.ask)
		}
	}
}

func TestIDs(t *testing.T) {
	seen := map[byte]bool{}
	for range 2000 {
		id := newID()
		if len(id) != 6 {
			t.Fatal(id)
		}
		for i := range len(id) {
			seen[id[i]] = true
		}
	}
	for c := range seen {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			t.Errorf("%q is in an id", c)
		}
	}
	if len(seen) != 36 {
		t.Errorf("%d characters of 36 are used", len(seen))
	}
}
