package dial

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"slices"
)

// ErrPin says that the upstream is certified, and not by a key that the rule names.
var ErrPin = errors.New("no key in the upstream's chain is one that the route pins")

func (r Rule) tls() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.Roots != nil {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(r.Roots) {
			return nil, errors.New("there is no certificate in the file of roots")
		}
	}
	if len(r.Pins) > 0 {
		conf.VerifyConnection = r.pinned
	}
	return conf, nil
}

// pinned looks through the chains that were verified: what an upstream sends beside them proves nothing.
func (r Rule) pinned(state tls.ConnectionState) error {
	for _, chain := range state.VerifiedChains {
		for _, c := range chain {
			sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
			if slices.Contains(r.Pins, base64.StdEncoding.EncodeToString(sum[:])) {
				return nil
			}
		}
	}
	return ErrPin
}
