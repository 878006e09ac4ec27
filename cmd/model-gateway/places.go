package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"torno/internal/cli"
	"torno/internal/gateway/control"
)

// Names in the state directory.
const (
	doorsName   = "doors"
	budgetName  = "budget"
	recordsName = "records"
	cachesName  = "packages"
)

// places holds the gateway's directories, and opens its control socket.
type places struct {
	doors, budget, records, caches string
	listen                         func() (net.Listener, error)
}

// places returns the gateway's places. Usually this process makes them below the state directory. A gateway with a
// warden gets them from the warden instead, and stops when the warden ends.
func (s *serving) places(ctx context.Context, stop func()) (places, error) {
	if s.apart {
		return s.inherited(ctx, stop)
	}
	doors := filepath.Join(s.state, doorsName)
	if err := os.MkdirAll(doors, 0o700); err != nil {
		return places{}, err
	}
	for _, dir := range []string{s.state, doors} {
		if err := closed(dir); err != nil {
			return places{}, err
		}
	}
	return places{
		doors: doors, budget: filepath.Join(s.state, budgetName), records: filepath.Join(s.state, recordsName), caches: filepath.Join(s.state, cachesName),
		listen: func() (net.Listener, error) { return control.Listen(s.state) },
	}, nil
}

// closed refuses a directory that other users may enter, because it holds sockets that any process may open once it
// reaches them.
func closed(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return closedTo(dir, info)
}

func closedTo(dir string, info fs.FileInfo) error {
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return cli.Hint(fmt.Errorf("%s is open to other users", dir), "chmod 700 "+dir)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return cli.Hint(errors.New(dir+" belongs to another user"), "give this gateway a --state of its own")
	}
	return nil
}
