package report

import (
	"bytes"
	"errors"
	"testing"
)

// TestOutputIsNoReport: a test that prints the report of another reports itself alone.
func TestOutputIsNoReport(t *testing.T) {
	var forged, line bytes.Buffer
	if err := Write(&forged, Result{Test: "TestOther"}); err != nil {
		t.Fatal(err)
	}
	if found, err := Read(&forged); err != nil || len(found) != 1 || found[0].Test != "TestOther" {
		t.Fatalf("the oracle is dead: %v, %v", found, err)
	}
	output := "\r\n" + `{"Test":"TestOther"}` + "\n\x00\xff\u2028"
	if err := Write(&line, Result{Test: "TestThis", Exit: 1, Output: output}); err != nil {
		t.Fatal(err)
	}
	found, err := Read(&line)
	if err != nil || len(found) != 1 || found[0].Test != "TestThis" || found[0].Exit != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBrokenReport: a machine that ends in the middle of a line has not reported.
func TestBrokenReport(t *testing.T) {
	found, err := Read(bytes.NewBufferString("{\"Test\":\"TestA\"}\r\n{\"Test\":\"TestB\",\"Ex"))
	if err == nil || len(found) != 1 || found[0].Test != "TestA" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBeatsAreNoReports: nor do they disturb one, also as a serial line has them.
func TestBeatsAreNoReports(t *testing.T) {
	var line bytes.Buffer
	for range 2 {
		if err := errors.Join(Beat(&line), Write(&line, Result{Test: "TestA"}), Beat(&line)); err != nil {
			t.Fatal(err)
		}
	}
	serial := bytes.ReplaceAll(line.Bytes(), []byte("\n"), []byte("\r\n"))
	found, err := Read(bytes.NewReader(serial))
	if err != nil || len(found) != 2 || found[0].Test != "TestA" || found[1].Test != "TestA" {
		t.Errorf("%+v, %v", found, err)
	}
}
