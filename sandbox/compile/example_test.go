package compile_test

import (
	"errors"
	"fmt"

	"torno/delegation"
	"torno/sandbox/compile"
)

// A request becomes something to launch, or a refusal that says which field is to blame.
func ExampleCompile() {
	policy := compile.Policy{
		Outbox: "main", Dir: "/srv/outbox", Allow: []compile.Root{"/srv/work"},
		Profiles: []compile.Profile{{Name: "shell"}},
	}
	for _, workspace := range []string{"/srv/work/s1", "/etc"} {
		spec, _, err := compile.Compile(delegation.Request{Task: "make test", Workspace: workspace}, policy)
		if refusal, ok := errors.AsType[*delegation.Refusal](err); ok {
			fmt.Println(refusal.Code, refusal.Field, refusal.Text)
			continue
		}
		fmt.Println(spec.Process.Argv, spec.WorkspaceMount().Target)
	}
	// Output:
	// [/bin/sh -c -- make test] /srv/work/s1
	// workspace workspace Workspace path not in allowed roots: /etc
}
