package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// maxAnswer bounds how much of a sentry's answer is read.
const maxAnswer = 64 << 10

// Bind makes the sandbox's kernel, the sentry, mount the sandbox's path from over its path to, as mount(2) does with
// MS_BIND. It talks to the sentry directly, over the socket that takes runsc's calls: executing runsc would take longer
// than a waiting run allows. Bind needs our build of runsc (runsc/patches/bind.md).
func (r Runsc) Bind(ctx context.Context, id, from, to string) error {
	err := r.call(ctx, id, "containerManager.Mount", map[string]any{"ContainerID": id, "Source": from, "Destination": to, "FsType": "bind"})
	if err != nil {
		return fmt.Errorf("have the sandbox's kernel show %s at %s: %w", from, to, err)
	}
	return nil
}

// call makes one call to a sentry.
func (r Runsc) call(ctx context.Context, id, method string, argument any) error {
	conn, err := r.dial(ctx, id)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(signalTime)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(map[string]any{"method": method, "arg": argument}); err != nil {
		return err
	}
	var answer struct {
		Success bool   `json:"success"`
		Err     string `json:"err"`
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("the sandbox's kernel has not answered: %w", err)
	}
	if !answer.Success {
		return errors.New(answer.Err)
	}
	return nil
}

// dial connects to a sentry by a short name, however long the path of the state is.
func (r Runsc) dial(ctx context.Context, id string) (net.Conn, error) {
	dir, err := os.Open(r.state())
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/runsc-%s.sock", dir.Fd(), id))
}
