//go:build !linux

package docker

import (
	"context"

	"torno/sandbox"
)

// Attest says that only a host with Linux can look.
func (l *Launcher) Attest(_ context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	return sandbox.Attestation{Why: "the engine's processes are not this host's"}, h.On(l.identity.Name())
}
