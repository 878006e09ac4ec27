package soak

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// TestSoak lets houses be soaked, round by round, for two minutes or as long as SOAK says, shared among the launchers. The
// seed is in the name of a round.
func TestSoak(t *testing.T) {
	whole, seed := 2*time.Minute, rand.Uint64N(1_000_000)
	var err error
	if text := os.Getenv("SOAK"); text != "" {
		if whole, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("SOAK_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	among := house.Launchers
	if text := os.Getenv("SOAK_SANDBOX"); text != "" {
		among = []string{text}
	}
	for _, sandbox := range among {
		t.Run(sandbox, func(t *testing.T) { rounds(t, sandbox, seed, whole/time.Duration(len(among))) })
	}
}

// rounds are those of one launcher.
func rounds(t *testing.T, sandbox string, seed uint64, whole time.Duration) {
	power, ok := powers[sandbox]
	if !ok {
		t.Fatalf("SOAK_SANDBOX is one of %v", house.Launchers)
	}
	power.need(t)
	round := min(whole, longest)
	if os.Getenv("SOAK_SEED") == "" {
		round = min(max(whole/time.Duration(len(tempers[sandbox])), 20*time.Second), round) // each temper has its turn
	}
	for deadline := time.Now().Add(whole - round/2); time.Now().Before(deadline) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { soak(t, sandbox, seed, round, power.begin(t)) })
	}
}

// longest is how long a round may be: what is left of it is looked at when it is over.
const longest = 3 * time.Minute

// soak is one round.
func soak(t *testing.T, sandbox string, seed uint64, length time.Duration, power power) {
	t.Logf("to have the same decisions again: SOAK_SANDBOX=%s SOAK_SEED=%d SOAK=%s", sandbox, seed, length)
	s := newScene(t, power)
	s.engine = map[string][]deedOfEngine{}
	moods := tempers[sandbox]
	f := &fate{
		scene: s, points: crashPoints(t), text: s.Read(s.Config), among: moods[seed%uint64(len(moods))], done: map[deed]int{},
	}
	f.rise(stroke{settled: settings{running: 4, shutdown: "cancel", extra: true}, point: -1})
	mounted := s.mounts()
	watching, lookAway := context.WithCancel(t.Context())
	defer lookAway()
	acting, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var seeing, players sync.WaitGroup
	seeing.Go(func() { s.witness(watching) })
	seeing.Go(func() { power.listen(watching, s) })
	players.Go(func() { s.clients(acting, throw(seed, clientsDice)) })
	players.Go(func() { f.strike(acting, throw(seed, fatesDice)) })
	players.Wait()
	s.settle()
	s.nothingIsLeft(mounted)
	lookAway()
	seeing.Wait()
	s.gather()
	for _, what := range slices.Concat(s.odd, s.faults()) {
		t.Error(what)
	}
	s.summarize(f)
}

// crashPoints are all points at which a watcher can be made to die.
func crashPoints(t *testing.T) (points []string) {
	point := regexp.MustCompile(`crash\.At\("([a-z.-]+)"\)`)
	found := map[string]bool{}
	err := filepath.WalkDir("../../watcher", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, match := range point.FindAllSubmatch(data, -1) {
			found[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d points were found", len(found))
	}
	for _, state := range []delegation.State{delegation.StateStarting, delegation.StateRunning, delegation.StateEnded} {
		found["move."+string(state)] = true
	}
	for point := range found {
		points = append(points, point)
	}
	slices.Sort(points)
	return points
}

// summarize says what there was, so that a soak in which nothing happened shows.
func (s *scene) summarize(f *fate) {
	ends := map[string]int{}
	for _, a := range s.asks {
		switch {
		case len(a.answers) == 0:
			ends["no answer owed"]++
		case a.answers[0].Error != nil:
			ends[fmt.Sprint(a.answers[0].Reason, " ", a.answers[0].Error.Code)]++
		default:
			ends[string(a.answers[0].Reason)]++
		}
	}
	elsewhere := 0
	for _, r := range s.runs {
		if s.isElsewhere(string(r.SandboxID)) {
			elsewhere++
		}
	}
	s.Logf("%d requests, %d children, %d runs on another engine, %d deaths at points; fate: %v; ends: %v",
		len(s.asks), len(s.lives), elsewhere, f.deaths, f.done, ends)
}
