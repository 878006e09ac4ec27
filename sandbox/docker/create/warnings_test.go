package create

import (
	"log/slog"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/local"
)

// TestWarningsAboutLimits has the texts of engines of several versions.
func TestWarningsAboutLimits(t *testing.T) {
	for warning, want := range map[string]sandbox.GuaranteeKey{
		"Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.":           sandbox.MemoryLimit,
		"Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap.":      sandbox.SwapLimit,
		"Your kernel does not support PIDs limit capabilities or the cgroup is not mounted. PIDs limit discarded.":             sandbox.PidsLimit,
		"Your kernel does not support CPU CFS scheduler or the cgroup is not mounted. Period discarded.":                       sandbox.CPULimit,
		"The requested image's platform (linux/arm64) does not match the detected host platform (linux/amd64) and no specific": "",
	} {
		if got := warnedOf(warning); got != want {
			t.Errorf("%q is about %q, want %q", warning, got, want)
		}
	}
}

func TestLostLimitsAreRefused(t *testing.T) {
	m := &making{
		Ground: &Ground{Log: slog.New(slog.DiscardHandler), Enforced: map[sandbox.GuaranteeKey]bool{sandbox.MemoryLimit: true}},
		Making: local.Making{Order: local.Order{Spec: sandbox.Spec{Profile: "p"}}},
	}
	swap, memory := "no swap limit. Memory limited without swap.", "no memory limit"
	if err := m.readWarnings([]string{swap}); err != nil {
		t.Errorf("a loss that is known: %v", err)
	}
	err := m.readWarnings([]string{swap, memory})
	if refusal, ok := err.(*delegation.Refusal); !ok || refusal.Code != delegation.CodeNotEnforced || !strings.Contains(refusal.Text, memory) {
		t.Errorf("a loss that is not: %v", err)
	}
}
