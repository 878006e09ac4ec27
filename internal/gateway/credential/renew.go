package credential

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"torno/internal/gateway/dial"
)

const (
	toRenew     = 30 * time.Second
	toLookAgain = 100 * time.Millisecond // pause before the next look whether the login is free
)

func openLogin(h home, known *Known) (Source, error) {
	of := h.program()
	t, err := dial.Rule{Host: of.host, Silence: toRenew}.Transport()
	if err != nil {
		return nil, err
	}
	return &login{of: of, home: h, send: t.RoundTrip, kept: newKept[tokens](true), known: known}, nil
}

// renew trades the refresh token for new tokens.
func (l *login) renew(ctx context.Context, now contents) (*fresh, error) {
	if err := l.home.ready(ctx); err != nil {
		return nil, fmt.Errorf("the login in %s has expired, and new tokens could not be written back: %w", l.home, err)
	}
	ctx, stop := context.WithTimeout(ctx, toRenew)
	defer stop()
	ask := map[string]string{"grant_type": "refresh_token", "refresh_token": now.refresh, "client_id": l.of.id}
	if l.of.scope != "" {
		ask["scope"] = l.of.scope
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.of.host+l.of.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	answer, err := l.send(req)
	if err != nil {
		return nil, passing(fmt.Errorf("refresh the login of %s: %w", l.of.name, err))
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxText))
	switch code := answer.StatusCode; {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return nil, passing(fmt.Errorf("refresh the login of %s: the server answers %d", l.of.name, code))
	case code != http.StatusOK:
		return nil, fmt.Errorf("refresh the login of %s: the server answers %d; %s", l.of.name, code, l.of.again)
	case err != nil:
		return nil, passing(fmt.Errorf("refresh the login of %s: the server's answer breaks off: %w", l.of.name, err))
	}
	return &fresh{spent: secretOf(now.refresh), said: secretOf(string(said)), at: time.Now()}, l.isAnswer(said)
}

// answer is the JSON that the token's server returns.
type answer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Seconds int64  `json:"expires_in"`
}

func (l *login) isAnswer(said []byte) error {
	var a answer
	if json.Unmarshal(said, &a) != nil || a.Access == "" {
		return errors.New("the server of " + l.of.name + " answers without tokens")
	}
	l.known.add(a.Access)
	l.known.add(a.Refresh)
	return nil
}

// expiry returns when an access token ends: the milliseconds in the file, or else the time in the token itself. The
// zero time means unknown.
func expiry(said json.RawMessage, access string) time.Time {
	var at struct {
		Seconds float64 `json:"exp"`
	}
	if ms := float64(0); json.Unmarshal(said, &ms) == nil && ms > 0 && ms < 1<<53 {
		return time.UnixMilli(int64(ms))
	}
	parts := strings.Split(access, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(claims, &at) != nil || at.Seconds <= 0 || at.Seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(at.Seconds), 0)
}
