package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest returns the SHA-256 of the Spec's JSON, in hexadecimal. Equal specs have equal digests.
func (s Spec) Digest() string {
	data, err := json.Marshal(s)
	if err != nil {
		panic("sandbox: a Spec is plain data and always has a JSON form: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
