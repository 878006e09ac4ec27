// Package survey asks engines about themselves, and about the things that installations have on them. It needs no
// launcher. The doctor uses it, and an operator who looks for leftovers. A launcher takes its Facts from here.
package survey

import (
	"context"
	"fmt"
	"time"

	"torno/internal/doctor"
	"torno/sandbox/docker/engine"
)

// About asks an engine about itself.
func About(ctx context.Context, host, runtime string) (doctor.Launcher, error) {
	e, err := engine.Connect(ctx, host, func(string, time.Duration) {})
	if err != nil {
		return doctor.Launcher{}, err
	}
	defer func() { _ = e.Close() }() // nothing was written
	info, err := e.Info(ctx)
	if err != nil {
		return doctor.Launcher{}, fmt.Errorf("ask the engine about itself: %w", err)
	}
	version, err := e.Version(ctx)
	if err != nil {
		return doctor.Launcher{}, fmt.Errorf("ask the engine for its version: %w", err)
	}
	about, err := engineOf(info, version, runtime)
	about.Socket = e.Socket()
	return about, err
}

// Installations returns all installations that have something on an engine, by their ids. The caller must find out what
// became of each.
func Installations(ctx context.Context, host string) ([]doctor.Leftover, error) {
	e, err := engine.Connect(ctx, host, func(string, time.Duration) {})
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close() }() // nothing was written
	return count(ctx, e)
}
