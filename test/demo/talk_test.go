package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"torno/test/upstream/standin"
)

// TestTheTalkerRunsWhatItsModelAsksFor, and prints what the model says of it.
func TestTheTalkerRunsWhatItsModelAsksFor(t *testing.T) {
	up := httptest.NewServer(standin.New(""))
	defer up.Close()
	t.Setenv("ANTHROPIC_BASE_URL", up.URL)
	var out strings.Builder
	if err := talk(question, &out); err != nil || out.String() != "The tool said: 42\n" {
		t.Errorf("it printed %q, %v", &out, err)
	}
	if err := talk("#status 429 3", &out); err == nil {
		t.Error("a refusal passes")
	}
}
