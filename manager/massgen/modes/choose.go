package modes

import (
	"errors"
	"fmt"
)

// Host describes the place where the server runs.
type Host struct {
	InContainer bool  // /.dockerenv exists
	Outbox      bool  // there is a directory for requests
	Nobody      error // why nobody serves the outbox; nil if a watcher does
}

// Way says where a child runs.
type Way struct {
	Mode    Mode
	Prefix  []string // put before the command, in Isolated
	Warning string   // for the child's result, or ""
}

// These texts are MassGen's.
const (
	fellBack    = "Subagent runtime isolation prerequisites unavailable; using explicit fallback mode 'inherited'. Configure coordination.subagent_host_launch_prefix to restore isolated launch behavior."
	noBridge    = "Subagent runtime isolation requested, but parent runtime is containerized and no host launch bridge is configured. Configure coordination.subagent_host_launch_prefix for isolated launch, or set coordination.subagent_runtime_fallback_mode: inherited to explicitly opt into shared-runtime fallback."
	noContainer = "Subagent runtime mode 'delegated' requires running inside a container (/.dockerenv must exist). Use 'isolated' or 'inherited' for non-containerized runtimes."
	noDirectory = "Subagent runtime mode 'delegated' requires delegation_directory to be set. The delegation directory is the shared path for container-to-host communication."
)

// unboxed is the warning in each result of a child without a sandbox.
const unboxed = "This subagent runs outside a sandbox, with all rights of its parent, because the settings say so."

// Choose decides where a child runs. In the modes isolated and delegated it uses the watcher if one serves, whether or
// not this is a container. A watcher that serves is proof enough, so Choose need not guess from the name of a file.
func (s Settings) Choose(h Host) (Way, error) {
	if s.Mode == Inherited {
		return Way{Mode: Inherited, Warning: unboxed}, nil
	}
	if h.Outbox && h.Nobody == nil {
		return Way{Mode: Delegated}, nil
	}
	if s.Mode == Isolated && len(s.Prefix) > 0 {
		return Way{Mode: Isolated, Prefix: s.Prefix, Warning: unboxed}, nil
	}
	if s.Fallback == Inherited {
		return Way{Mode: Inherited, Warning: fellBack + " | " + unboxed}, nil
	}
	return Way{}, s.noWay(h)
}

// noWay returns the reason why a child cannot run, and the next step: MassGen's text, and why nobody serves.
func (s Settings) noWay(h Host) error {
	var theirs error
	switch {
	case s.Mode == Delegated && !h.InContainer:
		theirs = refusal(noContainer)
	case s.Mode == Delegated && !h.Outbox:
		theirs = refusal(noDirectory)
	case s.Mode == Isolated && h.InContainer:
		theirs = refusal(noBridge)
	}
	switch {
	case h.Nobody == nil && theirs == nil:
		return errors.New("there is no outbox, and no setting says how subagents run without one")
	case theirs == nil:
		return h.Nobody
	case h.Nobody == nil:
		return theirs
	}
	return fmt.Errorf("%w (%w)", theirs, h.Nobody)
}
