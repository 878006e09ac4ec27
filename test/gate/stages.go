package main

import (
	"fmt"
	"slices"
	"strings"
)

// Stage is one call of go test.
type Stage struct {
	Name     string
	Packages []string // patterns; none means all packages that no other stage of either suite owns
	Tests    []string // the tests to run, by name; an empty list means all tests that no other stage names
	Parallel int      // packages at a time
	Engine   bool     // its tests may ask the Docker engine
	Files    []string // files and directories: a change of one of them needs this stage of the night
}

// measures are tests whose verdict is a time, a ratio of times or resident memory. Other work on the machine changes it, so they run in the night.
var measures = []string{
	"TestTheRoadIsShort", "TestAnIdleWatcherIsSmall", "TestAFloodOfLinesWaits", "TestFiveHundredStreams",
	"TestACrowdDoesNotSlowTheDoor", "TestMemoryStaysFlat", "TestAQueuedRunIsCounted", "TestASentRequestLeavesTheHeap",
	"TestListDoesNotGrowWithTheHistory", "TestDeepFindingsCostNoMoreThanOthers", "TestLoadCostsLittle", "TestAFrozenWatcher", "TestWaitingForAnEngineIsNoWork",
	"TestAFloodIsNotKept",
}

// variants show in another way what other tests of the suite show, or are one program's own story. They take long.
var variants = []string{"TestContractAhead", "TestCorpusAhead", "TestFiftyBeginFromAPoolOfFifty", "TestGoTests", "TestExhaustionAsAnOrdinaryUser"}

// suites are the stages of each suite, in the order in which they run.
var suites = map[string][]Stage{
	"test": {
		{Name: "plain", Parallel: 2},
		{Name: "launchers", Parallel: 2, Engine: true, Packages: []string{"./internal/mounts", "./sandbox/docker", "./sandbox/gvisor", "./sandbox/gvisor/keeper"}},
		// Each package runs up to six houses at once. Two packages beside each other take longer than one after the other
		// where processes begin slowly, and load then decides verdicts.
		{Name: "programs", Parallel: 1, Engine: true, Packages: []string{
			"./test/crash", "./test/e2e", "./test/engine", "./internal/serve", "./test/attack/outbox", "./cmd/watcher", "./test/attack/client", "./test/work",
		}},
	},
	"night": {
		{Name: "measures", Parallel: 1, Engine: true, Tests: measures, Packages: []string{
			"./test/e2e", "./watcher", "./watcher/output", "./cmd/model-gateway",
			"./internal/gateway", "./internal/journal", "./internal/tree", "./test/attack/outbox", "./test/engine",
		}},
		{Name: "variants", Parallel: 1, Engine: true, Tests: variants, Packages: []string{
			"./sandbox/docker", "./sandbox/gvisor", "./test/attack/outbox", "./test/e2e",
		}},
		{Name: "planted", Parallel: 1, Tests: []string{"TestEachDefectIsFound"}, Packages: []string{"./test/planted"}, Files: []string{"test/gate", "test/planted"}},
		{Name: "racer", Parallel: 1, Engine: true, Packages: []string{"./test/attack/racer"}, Files: []string{
			"internal/beneath", "internal/mounts", "internal/trust", "sandbox/docker", "sandbox/gvisor", "sandbox/local", "test/attack/racer",
		}},
		{Name: "clients", Parallel: 1, Engine: true, Packages: []string{"./test/clients", "./test/demo"}, Files: []string{
			"cmd/subagent", "internal/agent", "manager/mcp", "test/clients", "test/demo",
		}},
		{Name: "pages", Parallel: 1, Engine: true, Packages: []string{"./test/readme", "./test/terminal", "./test/scripts"}, Files: []string{
			"README.md", "configs/examples", "docs", "scripts", "test/readme", "test/scripts", "test/terminal",
		}},
		{Name: "units", Parallel: 1, Engine: true, Packages: []string{"./test/units"}, Files: []string{"contrib/systemd", "scripts/install", "test/units"}},
		{Name: "installed", Parallel: 1, Engine: true, Packages: []string{"./test/installed", "./test/platforms"}, Files: []string{
			"Makefile", "contrib", "scripts/dist", "scripts/install", "test/installed", "test/platforms",
		}},
		{Name: "machine", Parallel: 1, Engine: true, Packages: []string{"./test/machine/..."}, Files: []string{
			"cmd/sandbox-init", "internal/cgroups", "internal/initproc", "internal/seccomp", "runsc", "test/machine",
		}},
		{Name: "soak", Parallel: 1, Engine: true, Packages: []string{"./test/soak"}, Files: []string{
			"internal/journal", "internal/serve", "test/soak", "watcher/outbox", "watcher/run", "watcher/schedule",
		}},
	},
}

// named returns the tests that stages name. They run in those stages and in no other.
func named() (tests []string) {
	for _, suite := range suites {
		for _, s := range suite {
			tests = append(tests, s.Tests...)
		}
	}
	slices.Sort(tests)
	return tests
}

// strict are packages in which a failure that does not come again is still a failure: the wall, the journal, and that nothing is lost and nothing happens twice.
var strict = []string{
	"delegation", "sandbox/...", "watcher/...", "manager/...", "test/attack/...", "test/crash", "test/e2e", "test/engine",
	"internal/agent/adapter", "internal/cgroups", "internal/gateway/...", "internal/initproc", "internal/journal", "internal/mounts", "internal/seccomp", "internal/trust",
}

// isStrict: path is the import path of a package.
func isStrict(path string) bool {
	path = strings.TrimPrefix(path, "torno/")
	return slices.ContainsFunc(strict, func(pattern string) bool { return matches(pattern, path) })
}

func matches(pattern, path string) bool {
	above, deep := strings.CutSuffix(pattern, "/...")
	return path == above || deep && strings.HasPrefix(path, above+"/")
}

// stagesOf returns the stages of a suite with these names, or all of them.
func stagesOf(suite string, names []string) ([]Stage, error) {
	all, ok := suites[suite]
	if !ok {
		return nil, fmt.Errorf("there is no suite %q: there are test and night", suite)
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Stage
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Stage) bool { return s.Name == name })
		if i < 0 {
			var have []string
			for _, s := range all {
				have = append(have, s.Name)
			}
			return nil, fmt.Errorf("the suite %s has no stage %q: it has %s", suite, name, strings.Join(have, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// otherPackages returns those of all packages that belong to no stage by their name. A stage of single tests owns no package.
func otherPackages(all []string) (rest []string) {
	for _, path := range all {
		if len(ownersOf(path)) == 0 {
			rest = append(rest, path)
		}
	}
	return rest
}

// ownersOf returns the stages that run all tests of a package because they name it.
func ownersOf(path string) (stages []string) {
	for _, suite := range suites {
		for _, s := range suite {
			names := func(pattern string) bool {
				return matches(strings.TrimPrefix(pattern, "./"), strings.TrimPrefix(path, "torno/"))
			}
			if len(s.Tests) == 0 && slices.ContainsFunc(s.Packages, names) {
				stages = append(stages, s.Name)
			}
		}
	}
	return stages
}
