package attack

import "testing"

func TestThePageAndTheSourcesAgree(t *testing.T) {
	page, err := ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSources(Root())
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Rows) < 80 {
		t.Errorf("only %d rows were read", len(page.Rows))
	}
	for _, fault := range faults(page, s) {
		t.Error(fault)
	}
}
