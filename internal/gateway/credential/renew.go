package credential

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/internal/gateway/dial"
	"torno/internal/lock"
)

const (
	toRenew     = 30 * time.Second
	toLookAgain = 100 * time.Millisecond // whether another one is done
)

func openLogin(of program, path string, known *Known) (Source, error) {
	t, err := dial.Rule{Host: of.host, Silence: toRenew}.Transport()
	if err != nil {
		return nil, err
	}
	return &login{of: of, path: path, send: t.RoundTrip, kept: newKept[tokens](true), known: known}, nil
}

// alone waits until no other gateway, and no other route of ours, refreshes a login in the file's directory: a refresh token is
// good for once, and some servers end a login whose token comes twice. The program itself does not know this lock.
func (l *login) alone(ctx context.Context) (unlock func(), err error) {
	ctx, stop := context.WithTimeout(ctx, 2*toRenew)
	defer stop()
	dir := filepath.Dir(l.path)
	held := lock.OfDirectory(dir, func() (*os.File, error) { return os.Open(dir) }, func(error) {})
	for {
		err := held.Lock()
		if err == nil {
			return func() { _ = held.Unlock() }, nil // it ends with the process in any case
		}
		if _, other := errors.AsType[*lock.HeldError](err); !other {
			return nil, fmt.Errorf("refresh the login of %s: %w", l.of.name, err)
		}
		select {
		case <-time.After(toLookAgain):
		case <-ctx.Done():
			return nil, fmt.Errorf("refresh the login of %s, which another process does for too long: %w", l.of.name, err)
		}
	}
}

// renew trades the refresh token for new tokens.
func (l *login) renew(ctx context.Context, now contents) (*fresh, error) {
	if err := replaceable(l.path); err != nil {
		return nil, fmt.Errorf("the login in %s has expired, and new tokens could not be written back: %w", l.path, err)
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
		return nil, fmt.Errorf("refresh the login of %s: %w", l.of.name, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxText))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("refresh the login of %s: the server answers %d; %s", l.of.name, answer.StatusCode, l.of.again)
	}
	return &fresh{spent: secretOf(now.refresh), said: secretOf(string(said)), at: time.Now()}, l.isAnswer(said)
}

// answer is what the token's server says.
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

// merge puts the server's tokens into the file's text, and leaves all else as it is.
func (l *login) merge(text string, got *fresh) (string, error) {
	var fresh answer
	if err := json.Unmarshal([]byte(got.said.reveal()), &fresh); err != nil {
		return "", errors.New("the server of " + l.of.name + " answers without tokens")
	}
	var whole map[string]json.RawMessage
	var inner map[string]any
	if err := errors.Join(json.Unmarshal([]byte(text), &whole), json.Unmarshal(whole[l.of.inner], &inner)); err != nil {
		return "", errors.New("the file of the login is no JSON")
	}
	inner[l.of.access] = fresh.Access
	if fresh.Refresh != "" {
		inner[l.of.refresh] = fresh.Refresh
	}
	if _, has := inner["expiresAt"]; has && fresh.Seconds > 0 {
		inner["expiresAt"] = got.at.Add(time.Duration(min(fresh.Seconds, 1<<32)) * time.Second).UnixMilli()
	}
	if _, has := inner["id_token"]; has && fresh.ID != "" {
		inner["id_token"] = fresh.ID
	}
	again, err := json.Marshal(inner)
	if err != nil {
		return "", err
	}
	whole[l.of.inner] = again
	if _, has := whole["last_refresh"]; has {
		whole["last_refresh"], err = json.Marshal(time.Now().UTC().Format(time.RFC3339Nano))
	}
	if err != nil {
		return "", err
	}
	done, err := json.MarshalIndent(whole, "", "  ")
	return string(done), err
}

// expiry is the end of an access token: as the file says it, in milliseconds, or as the token itself does. Zero is unknown.
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

// replaceable makes sure that a file can be replaced, before that has to succeed.
func replaceable(path string) error {
	next, err := beside(path)
	if err != nil {
		return err
	}
	return errors.Join(next.Close(), os.Remove(next.Name()))
}

// beside makes a new file in the directory of another one, for its owner, closed to others.
func beside(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	next, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".torno-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := next.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	return next, nil
}

// replace puts a text into the place of a file, whole or not at all.
func replace(path string, text []byte) error {
	next, err := beside(path)
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err == nil {
		err = next.Sync()
	}
	err = errors.Join(err, next.Close())
	if err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
