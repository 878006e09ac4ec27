//go:build !linux

package processes

import "errors"

// Unseen is the reason why the host cannot look at an engine's processes.
const Unseen = "the engine's processes are not this host's"

// Look always fails, because it needs a host with Linux.
func (Subject) Look() (Seen, error) { return Seen{}, errors.New(Unseen) }
