package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// aws is a source that signs each request with a key.
type aws struct {
	place           place
	region, service string
	kept            *kept[keys]
	known           *Known
}

// keys are credentials from AWS: a key id, a secret, and for a role a session.
type keys struct{ id, secret, session Secret }

// Header always fails, because a signature needs the whole request. Apply calls sign instead.
func (a *aws) Header(context.Context) (name, value string, err error) {
	return "", "", errors.New("a request to AWS is signed, its header is not known before")
}

func (a *aws) Refused(context.Context) { a.kept.drop() }

func (a *aws) sign(ctx context.Context, req *http.Request, body []byte) error {
	k, err := a.kept.get(ctx, a.read)
	if err != nil {
		return err
	}
	a.known.add(k.secret.reveal())
	a.known.add(k.session.reveal())
	signature{k, a.region, a.service, time.Now().UTC()}.put(req, body)
	return nil
}

func (a *aws) read(ctx context.Context) (keys, until, error) {
	text, err := a.place.read(ctx)
	if err != nil {
		return keys{}, until{}, err
	}
	id, secret, session, end := parseKeys(text)
	for _, one := range []string{secret, session} {
		a.known.add(one)
	}
	if id == "" || len(secret) < shortest || !isValue(id) || !isValue(session) {
		return keys{}, until{}, fmt.Errorf("%s has no key of AWS: neither a [default] profile nor the output of a credential_process", a.place)
	}
	keep := until{}
	if a.place.costs() {
		keep = keepUntil(end)
	}
	return keys{secretOf(id), secretOf(secret), secretOf(session)}, keep, nil
}

// onlyKeys returns what parseKeys reads in a text, and nothing else: a credentials file may hold the keys of other
// accounts.
func onlyKeys(text string) string {
	id, secret, session, end := parseKeys(text)
	only, err := json.Marshal(map[string]any{"AccessKeyId": id, "SecretAccessKey": secret, "SessionToken": session, "Expiration": end})
	if err != nil {
		return "" // a time beyond the year 9999
	}
	return string(only)
}

// parseKeys reads the output of a credential_process, or the default profile of a credentials file.
func parseKeys(text string) (id, secret, session string, end time.Time) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var said struct {
			AccessKeyID     string    `json:"AccessKeyId"`
			SecretAccessKey string    `json:"SecretAccessKey"`
			SessionToken    string    `json:"SessionToken"`
			Expiration      time.Time `json:"Expiration"`
		}
		if json.Unmarshal([]byte(text), &said) != nil {
			return "", "", "", time.Time{}
		}
		return said.AccessKeyID, said.SecretAccessKey, said.SessionToken, said.Expiration
	}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[] ")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if section != "default" {
			continue
		}
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(key)) {
		case "aws_access_key_id":
			id = value
		case "aws_secret_access_key":
			secret = value
		case "aws_session_token":
			session = value
		}
	}
	return id, secret, session, time.Time{}
}
