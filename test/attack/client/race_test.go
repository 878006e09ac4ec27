//go:build linux

package client

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/test/swap"

	"torno/test/attack"
)

// TestAnswerThatIsSwapped: a process that the child left behind exchanges the answer, or the directory that it lies in,
// with a link or a second name of another file, as fast as it can, while its parent takes the result again and again.
func TestAnswerThatIsSwapped(t *testing.T) {
	trial := &attack.Trial{Row: "W5", Where: "manager", Oracle: true}
	for name, race := range map[string]struct {
		what func(s *scene) string
		link func(old, new string) error
	}{
		"the answer":                     {(*scene).answer, os.Symlink},
		"the answer, with a second name": {(*scene).answer, os.Link},
		"its directory":                  {func(s *scene) string { return filepath.Dir(s.answer()) }, os.Symlink},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.spawn()
			s.must(os.WriteFile(s.answer(), []byte("mine"), 0o600))
			stop := s.race(race.what(s), race.link)
			defer stop()
			trial.Oracle = s.racyFalls() && trial.Oracle
			own := 0
			for range attack.Times(200, 10000) {
				own += s.take(trial)
			}
			if own == 0 {
				t.Error("it never read its own answer: nothing was at stake")
			}
		})
	}
	attack.Record(t, *trial)
}

// race exchanges a path with a link to the parent's secret until it is stopped.
func (s *scene) race(path string, bait func(old, new string) error) (stop func()) {
	s.Helper()
	info, err := os.Stat(path)
	s.must(err)
	elsewhere, link := s.secret(), filepath.Join(s.base, "link")
	if info.IsDir() {
		elsewhere = filepath.Join(s.base, "elsewhere")
		s.must(os.Mkdir(elsewhere, 0o755), os.WriteFile(filepath.Join(elsewhere, "answer.txt"), []byte(secret), 0o600))
	}
	s.must(bait(elsewhere, link))
	return swap.Names(s, [2]string{path, link})
}

// racyFalls says whether a client that looks before it opens, by name both times, is led astray in the time there is.
func (s *scene) racyFalls() bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		info, err := os.Lstat(s.answer())
		if err != nil || !info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Nlink != 1 {
			continue
		}
		if data, err := os.ReadFile(s.answer()); err == nil && strings.Contains(string(data), planted) {
			return true
		}
	}
	return false
}

// take has one run end, takes its result, and counts whether the child's own answer was in it. The run was found again, so
// that an answer that was there before is as good as any.
func (s *scene) take(trial *attack.Trial) (own int) {
	s.Helper()
	s.respond()
	result := s.wait()
	trial.Tried++
	if strings.Contains(result.Answer, planted) || result.StdoutTail != "the truth" {
		s.Errorf("it took %q", result.Answer)
	} else {
		trial.Held++
	}
	if result.Answer == "mine" {
		own = 1
	}
	s.spawn()
	var err error
	s.run, err = s.client.Attach("s1")
	s.must(err)
	return own
}
