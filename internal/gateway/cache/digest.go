package cache

import (
	"crypto/sha1" //nolint:gosec // old packages of npm have no other digest; it is the registry's, for one address
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
)

// Digest is a digest as a registry says it. The zero value is none.
type Digest struct {
	Algorithm string // sha1, sha256, sha512
	Sum       string // its bytes
}

var algorithms = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// Valid says whether it is a digest that can be made here.
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

// own is the algorithm of digests that no registry says.
const own = "sha256"
