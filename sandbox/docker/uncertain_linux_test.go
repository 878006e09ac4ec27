package docker_test

import (
	"regexp"
	"testing"

	"torno/sandbox"
)

// TestOneThatCannotBeLookedAtHidesNoOther has the engine fail for one container that has ended, at once or by never answering.
// It is listed as uncertain, beside all others.
func TestOneThatCannotBeLookedAtHidesNoOther(t *testing.T) {
	for name, fail := range map[string]func(*flaky, sandbox.Handle){
		"an error": func(between *flaky, _ sandbox.Handle) { between.spoil("inspect", false) },
		"no answer": func(between *flaky, h sandbox.Handle) {
			between.mu.Lock()
			defer between.mu.Unlock()
			between.mute = regexp.MustCompile(`^GET /v[0-9.]+/containers/` + h.ID + `/json$`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, between := newFlakyField(t)
			ended, fresh := f.create(f.spec("/bin/true")), f.create(f.spec("/bin/true"))
			defer f.remove(fresh)
			defer f.remove(ended)
			f.finish(f.startUnseen(ended))
			fail(between, ended)
			all, err := f.List(f.ctx)
			between.mu.Lock()
			between.mute = nil
			between.mu.Unlock()
			f.must(err)
			states := map[sandbox.SandboxID]sandbox.HandleState{}
			for _, h := range all {
				states[h.Sandbox] = h.State
			}
			if len(all) != 2 || states[ended.Sandbox] != sandbox.HandleUncertain || states[fresh.Sandbox] != sandbox.HandleCreated {
				t.Errorf("it lists %v", states)
			}
			all, err = f.List(f.ctx)
			f.must(err)
			for _, h := range all {
				if h.Sandbox == ended.Sandbox && (h.State != sandbox.HandleExited || h.Exit == nil) {
					t.Errorf("when it can be looked at again it is %+v", h)
				}
			}
		})
	}
}
