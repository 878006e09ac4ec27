package dial

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"slices"
)

// ErrPin means that the upstream's certificate is valid, but the rule pins none of the keys in its chain.
var ErrPin = errors.New("no key in the upstream's chain matches the route's pins")

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

// pinned checks the pins against the verified chains only, because other certificates that an upstream sends prove
// nothing.
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
