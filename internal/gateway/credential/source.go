package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"torno/internal/gateway/route"
)

// Source provides a route's credential.
type Source interface {
	// Header returns the header that carries the credential; name is "" if there is none.
	Header(ctx context.Context) (name, value string, err error)
	// Refused tells the source that the upstream refused the credential, so the next Header reads it again.
	Refused(ctx context.Context)
}

// signer is a Source that needs the request, or sets more than one header.
type signer interface {
	sign(ctx context.Context, req *http.Request, body []byte) error
}

// clients are the headers that could identify a client to some upstream. Apply removes them all.
var clients = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Chatgpt-Account-Id",
	"X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256",
}

// Apply sets exactly the source's credential on a request that is about to leave.
func Apply(ctx context.Context, s Source, req *http.Request, body []byte) error {
	for _, name := range clients {
		req.Header.Del(name)
	}
	if s, ok := s.(signer); ok {
		return s.sign(ctx, req, body)
	}
	name, value, err := s.Header(ctx)
	if err != nil || name == "" {
		return err
	}
	req.Header.Set(name, value)
	return nil
}

// Open makes the source for a route's credential. It reads nothing yet.
func Open(c route.Credential, known *Known) (Source, error) {
	if of, ok := programs[c.Kind]; ok {
		return openLogin(loginFile{of, c.Path}, known)
	}
	p, err := placeOf(c)
	if err != nil {
		return nil, err
	}
	return openPlace(c, p, known)
}

// openPlace makes the source for a secret at a place.
func openPlace(c route.Credential, p place, known *Known) (Source, error) {
	switch c.Kind {
	case "":
		return nothing{}, nil
	case "aws":
		return &aws{place: p, region: c.Region, service: c.Service, kept: keptOf[keys](p), known: known}, nil
	case "file", "systemd", "command":
		return &plain{place: p, name: c.Header, prefix: c.Prefix, kept: keptOf[Secret](p), known: known}, nil
	}
	return nil, fmt.Errorf("there is no kind of credential %q", c.Kind)
}

// placeOf returns the place of a secret's text.
func placeOf(c route.Credential) (place, error) {
	switch {
	case len(c.Command) > 0:
		return command(c.Command), nil
	case c.Name != "":
		dir := os.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return nil, errors.New("the credential comes from systemd, and CREDENTIALS_DIRECTORY is not set; add LoadCredential= to the unit")
		}
		return file(filepath.Join(dir, c.Name)), nil
	}
	return file(c.Path), nil
}

// nothing is the source of a route without a credential.
type nothing struct{}

func (nothing) Header(context.Context) (name, value string, err error) { return "", "", nil }
func (nothing) Refused(context.Context)                                {}

// plain is the source of a header whose value is a prefix and the secret.
type plain struct {
	place        place
	name, prefix string
	kept         *kept[Secret]
	known        *Known
}

func (s *plain) Header(ctx context.Context) (name, value string, err error) {
	secret, err := s.kept.get(ctx, s.read)
	if err != nil {
		return "", "", err
	}
	s.known.add(secret.reveal())
	return s.name, s.prefix + secret.reveal(), nil
}

func (s *plain) Refused(context.Context) { s.kept.drop() }

func (s *plain) read(ctx context.Context) (Secret, until, error) {
	text, err := s.place.read(ctx)
	if err != nil {
		return Secret{}, until{}, err
	}
	value, keep := text, until{}
	if s.place.costs() {
		if value, keep, err = printed(text); err != nil {
			return Secret{}, until{}, err
		}
	}
	value = strings.TrimSpace(value)
	if len(value) < shortest {
		return Secret{}, until{}, fmt.Errorf("%s has no secret in it (fewer than %d characters)", s.place, shortest)
	}
	for _, c := range []byte(value) {
		if c <= ' ' || c >= 0x7f {
			return Secret{}, until{}, fmt.Errorf("%s has more than one line, or a character that no header may have", s.place)
		}
	}
	s.known.add(value)
	return secretOf(value), keep, nil
}
