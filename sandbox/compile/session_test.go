package compile_test

import (
	"slices"
	"testing"

	"torno/delegation"
	"torno/sandbox/compile"
)

// TestASessionIsAnAgents: the adapter of an agent is told where what is kept will be; to a plain command the word is a word.
func TestASessionIsAnAgents(t *testing.T) {
	req := request(t, "hello")
	var err error
	if req.SessionID, err = delegation.ParseToken("session-1"); err != nil {
		t.Fatal(err)
	}
	policy := bounded("sh", "{{.SessionID}}")
	plain, _, err := compile.Compile(req, policy)
	if err != nil || plain.Process.Session != "" || !slices.Equal(plain.Process.Argv, []string{"sh", "session-1"}) {
		t.Errorf("a plain command: %+v, %v", plain.Process, err)
	}
	policy.Profiles[0].Agent = "claude"
	for _, session := range []string{"session-1", ""} {
		if session == "" {
			req.SessionID = delegation.Token{}
		}
		spec, _, err := compile.Compile(req, policy)
		if err != nil {
			t.Fatal(err)
		}
		want := session != ""
		at := slices.Index(spec.Process.Argv, "--session")
		if spec.Process.Session != session || (at > 0) != want || want && spec.Process.Argv[at+1] != "/run/torno/run/session" {
			t.Errorf("%q: %+v", session, spec.Process)
		}
	}
}
