package cache

import (
	"crypto/sha1" //nolint:gosec // old npm packages have no other digest; it is the registry's own, for one address
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
)

// Digest is a digest from a registry. The zero value means none.
type Digest struct {
	Algorithm string // sha1, sha256, sha512
	Sum       string // in bytes, not as text
}

var algorithms = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// Valid reports whether this package can compute and compare such a digest.
func (d Digest) Valid() bool {
	algorithm, ok := algorithms[d.Algorithm]
	return ok && algorithm().Size() == len(d.Sum)
}

func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return d.Algorithm + "-" + hex.EncodeToString([]byte(d.Sum))
}

// own is the algorithm for files whose registry tells no digest.
const own = "sha256"
