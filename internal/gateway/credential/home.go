package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"torno/internal/atomicfile"
	"torno/internal/lock"
)

// home keeps a login's file.
type home interface {
	place
	program() program
	// lock keeps other gateways, and other routes of this one, from refreshing the logins of a directory. It does not
	// wait: if another process has the lock, held is true.
	lock(ctx context.Context) (unlock func(), held bool, err error)
	// ready checks that the file can be replaced.
	ready(ctx context.Context) error
	// save writes the answer of the token's server into the file, unless other tokens have replaced the traded ones
	// there.
	save(ctx context.Context, got *fresh) error
}

// loginFile is a login's file that this process reads and writes itself.
type loginFile struct {
	of   program
	path string
}

func (f loginFile) String() string                           { return f.path }
func (f loginFile) costs() bool                              { return true }
func (f loginFile) program() program                         { return f.of }
func (f loginFile) read(ctx context.Context) (string, error) { return file(f.path).read(ctx) }
func (f loginFile) ready(context.Context) error              { return replaceable(f.path) }

// lock locks the directory, because a refresh token can be used only once, and some servers end a login whose token
// comes twice. The login's own program does not use this lock.
func (f loginFile) lock(context.Context) (unlock func(), held bool, err error) {
	dir := filepath.Dir(f.path)
	at := lock.OfDirectory(dir, func() (*os.File, error) { return os.Open(dir) }, func(error) {})
	err = at.Lock()
	if _, other := errors.AsType[*lock.HeldError](err); other {
		return nil, true, err
	}
	return func() { _ = at.Unlock() }, false, err // the lock ends with the process in any case
}

// save puts new tokens into the current text of the file, because its program writes other things there too. If other
// tokens have replaced the traded ones there, a person has logged in anew, and save leaves the file alone.
func (f loginFile) save(ctx context.Context, got *fresh) error {
	text, err := f.read(ctx)
	if err != nil {
		return err
	}
	now, err := f.of.parse(f, text)
	if err != nil || now.refresh != got.spent.reveal() {
		return err
	}
	if text, err = f.of.merge(text, got); err != nil {
		return err
	}
	if _, err := f.of.parse(f, text); err != nil {
		return err
	}
	return replace(f.path, []byte(text))
}

// alone waits until no other gateway, and no other route of this one, refreshes a login in the same directory.
func alone(ctx context.Context, h home) (unlock func(), err error) {
	ctx, stop := context.WithTimeout(ctx, 2*toRenew)
	defer stop()
	for {
		unlock, held, err := h.lock(ctx)
		if err == nil {
			return unlock, nil
		}
		if !held {
			return nil, fmt.Errorf("refresh the login of %s: %w", h.program().name, err)
		}
		select {
		case <-time.After(toLookAgain):
		case <-ctx.Done():
			return nil, passing(fmt.Errorf("refresh the login of %s: another process has been refreshing it for too long: %w", h.program().name, err))
		}
	}
}

// merge puts the server's tokens, with their times, into the file's text. It changes nothing else.
func (p program) merge(text string, got *fresh) (string, error) {
	var fresh answer
	if err := json.Unmarshal([]byte(got.said.reveal()), &fresh); err != nil {
		return "", errors.New("the server of " + p.name + " answers without tokens")
	}
	var whole map[string]json.RawMessage
	var inner map[string]any
	if err := errors.Join(json.Unmarshal([]byte(text), &whole), json.Unmarshal(whole[p.inner], &inner)); err != nil {
		return "", errors.New("the file of the login is not JSON")
	}
	inner[p.access] = fresh.Access
	if fresh.Refresh != "" {
		inner[p.refresh] = fresh.Refresh
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
	whole[p.inner] = again
	if _, has := whole["last_refresh"]; has {
		whole["last_refresh"], err = json.Marshal(time.Now().UTC().Format(time.RFC3339Nano))
	}
	if err != nil {
		return "", err
	}
	done, err := json.MarshalIndent(whole, "", "  ")
	return string(done), err
}

// replaceable checks that a file can be replaced, before it has to be.
func replaceable(path string) error {
	next, err := beside(path)
	if err != nil {
		return err
	}
	return next.Drop()
}

// beside creates a new file in the same directory as path, with the same owner. Nobody else can open it.
func beside(path string) (*atomicfile.Draft, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	next, err := atomicfile.Begin(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err := next.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
		return nil, errors.Join(err, next.Drop())
	}
	return next, nil
}

// replace replaces the content of a file, completely or not at all.
func replace(path string, text []byte) error {
	next, err := beside(path)
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err == nil {
		err = next.Put(filepath.Base(path), atomicfile.Durable)
	}
	return errors.Join(err, next.Drop())
}
