package house

import "time"

// engineYard is an engine, for one house.
type engineYard struct {
	*House
	since int64
}

func newEngineYard(h *House) engineYard { return engineYard{h, time.Now().Unix()} }

func (y engineYard) sandboxes() (all []Sandbox) {
	y.Helper()
	for _, c := range y.Engine.Containers(y, y.Installation()) {
		all = append(all, Sandbox{ID: c.ID, Sandbox: c.Labels[SandboxLabel], Running: c.State == "running" && y.runs(c.ID)})
	}
	return all
}

// runs asks the engine about one container. It tells of an end before it has unmounted the container's root, and its list learns of the end
// only then.
func (y engineYard) runs(id string) bool {
	y.Helper()
	var seen struct{ State struct{ Running bool } }
	y.Engine.Get(y, "/containers/"+id+"/json", &seen) // one that was removed since has no state
	return seen.State.Running
}

func (y engineYard) remove(s Sandbox) { y.Helper(); y.Engine.Remove(y, s.ID) }

// starts asks the engine's own record. The trials of a watcher's start carry no id.
func (y engineYard) starts() map[string]int {
	y.Helper()
	counts := map[string]int{}
	for id, actions := range y.Engine.Events(y, y.Installation(), y.since, time.Now().Unix()+1) {
		for _, action := range actions {
			if action == "start" && len(id) == len(trialBox) {
				counts[id]++
			}
		}
	}
	return counts
}

// remains are the engine's own affair.
func (y engineYard) remains() []string { return nil }

func (y engineYard) left() (words []string) {
	installation := y.installation()
	if installation == "" {
		return nil
	}
	for _, c := range y.Engine.Containers(y, installation) {
		words = append(words, "the container "+c.Names[0])
	}
	return words
}
