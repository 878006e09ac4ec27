package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nights keeps which stages of the night were green, in a directory of the commit, so that a night that was interrupted goes on. "" keeps nothing.
type nights string

// nightsOf returns the nights of a checkout's commit. Nothing is kept of a checkout with changes: nobody could say later what was tried.
func nightsOf(ctx context.Context, checkout, commit string) (nights, error) {
	changed, err := gitIn(ctx, checkout, "status", "--porcelain")
	if err != nil || changed != "" {
		return "", nil //nolint:nilerr // an archive of the sources has no commit
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	above := filepath.Join(cache, "torno-gate", "nights")
	if err := os.MkdirAll(filepath.Join(above, commit), 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(above)
	for _, other := range entries {
		if other.Name() != commit {
			err = errors.Join(err, os.RemoveAll(filepath.Join(above, other.Name()))) // of another commit it says nothing
		}
	}
	return nights(filepath.Join(above, commit)), err
}

// green returns when a stage was green, how long it took and how many tests passed, or "" if it was not.
func (n nights) green(stage string) string {
	if n == "" {
		return ""
	}
	line, err := os.ReadFile(filepath.Join(string(n), stage))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(line))
}

// keep notes how a stage has ended.
func (n nights) keep(o Outcome, now time.Time) error {
	if n == "" {
		return nil
	}
	file := filepath.Join(string(n), o.Stage)
	if o.Red {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(file, fmt.Appendf(nil, "%s, in %s: %d passed\n", now.UTC().Format(time.RFC3339), o.Took.Round(time.Second), o.Report.Passed+len(o.Again)), 0o644)
}

// needed returns the stages of the night that a change of these files needs.
func needed(changed []string) (stages []string) {
	for _, s := range suites["night"] {
		concerns := func(file string) bool {
			return slices.ContainsFunc(s.Files, func(under string) bool {
				return file == under || strings.HasPrefix(file, strings.TrimSuffix(under, "/")+"/")
			})
		}
		if slices.ContainsFunc(changed, concerns) {
			stages = append(stages, s.Name)
		}
	}
	return stages
}

// changedFiles returns the files of a checkout that were written, changed or removed since a commit.
func changedFiles(ctx context.Context, checkout, since string) ([]string, error) {
	changed, err := gitIn(ctx, checkout, "diff", "--name-only", "--no-renames", since)
	if err != nil {
		return nil, err
	}
	untracked, err := gitIn(ctx, checkout, "ls-files", "--others", "--exclude-standard")
	return strings.Fields(changed + untracked), err
}
