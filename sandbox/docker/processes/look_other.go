//go:build !linux

package processes

import "errors"

// Unseen says why the host cannot look at processes of an engine.
const Unseen = "the engine's processes are not this host's"

// Look can only be had on a host with Linux.
func (Subject) Look() (Seen, error) { return Seen{}, errors.New(Unseen) }
