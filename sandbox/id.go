package sandbox

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// SandboxID names one sandbox of an installation, for ever: 32 hexadecimal digits. The id belongs to the sandbox and
// tells nothing about a run. The journal binds a sandbox to the key of one run; launchers know no keys.
type SandboxID string

// idDigits is the length of an id.
const idDigits = 32

// NewSandboxID returns an id that no other sandbox has.
func NewSandboxID() SandboxID {
	var random [idDigits / 2]byte
	rand.Read(random[:])
	return SandboxID(hex.EncodeToString(random[:]))
}

// ParseSandboxID accepts an id in its only spelling. Nothing else may become part of a path, a name or a label (I8).
func ParseSandboxID(text string) (SandboxID, error) {
	if len(text) != idDigits {
		return "", fmt.Errorf("%q is not the id of a sandbox: it has %d digits", text[:min(len(text), 2*idDigits)], idDigits)
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("%q is not the id of a sandbox: its digits are 0 to 9 and a to f", text)
		}
	}
	return SandboxID(text), nil
}
