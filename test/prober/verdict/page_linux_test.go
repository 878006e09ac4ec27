package verdict

import (
	"testing"

	"torno/test/attack"
	"torno/test/prober/inside"
)

// TestThePageAndTheProbesAgree: no probe without a line, no line without a probe, no word that docs/THREATS.md denies.
func TestThePageAndTheProbesAgree(t *testing.T) {
	page, err := ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	threats, err := attack.ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Lines) < 200 {
		t.Errorf("only %d lines were read", len(page.Lines))
	}
	for _, fault := range page.Faults(inside.Names(), threats) {
		t.Error(fault)
	}
}
