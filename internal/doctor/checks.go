package doctor

// check looks at one thing. Its findings get its name and its group.
type check struct {
	group Group
	name  string
	look  func(System) []Finding
}

// launcherChecks judge the facts that launchers report about themselves. A launcher runs these checks before it makes
// anything.
var launcherChecks = []check{
	{LauncherGroup, "engine", lookAtLaunchers},
	{LauncherGroup, "architecture", lookAtArchitecture},
	{LauncherGroup, "seccomp", lookAtSeccomp},
	{LauncherGroup, "user_remapping", lookAtRemapping},
	{LauncherGroup, "log_driver", lookAtLogDriver},
	{LauncherGroup, "security_module", lookAtSecurityModule},
	{LauncherGroup, "cgroups", lookAtCgroups},
	{LauncherGroup, "runtime", lookAtRuntime},
}

// startChecks judge the limits and walls that are enforced with a configuration. A watcher runs these checks when its
// launchers are open.
var startChecks = []check{
	{Machine, "uids", lookAtUIDs},
	{Sandboxes, "walls", lookAtWalls},
	{Sandboxes, "bounds", lookAtBounds},
	{Sandboxes, "demands", lookAtDemands},
	{Sandboxes, "owners", lookAtOwners},
}

// otherChecks find facts that are worth knowing. None of them keeps a watcher from starting.
var otherChecks = []check{
	{Configuration, "configuration", lookAtConfiguration},
	{Machine, "kernel", lookAtKernel},
	{Machine, "user_namespaces", lookAtUserNamespaces},
	{Machine, "unprivileged_namespaces", lookAtUnprivileged},
	{Machine, "core_pattern", lookAtCorePattern},
	{Machine, "inotify", lookAtInotify},
	{Machine, "swap", lookAtSwap},
	{Sandboxes, "choice", lookAtChoice},
	{Sandboxes, "mounting", lookAtMounting},
	{Sandboxes, "watcher", lookAtRunning},
	{Sandboxes, "reach", lookAtReach},
	{Roots, "file_system", lookAtFileSystems},
	{Roots, "idmap", lookAtIDMaps},
	{Roots, "space", lookAtSpace},
	{Roots, "quota", lookAtQuotas},
	{LeftBehind, "left_behind", lookAtLeftovers},
}

// groups lists all groups, in the order of Examine.
var groups = []Group{Configuration, Machine, LauncherGroup, Sandboxes, Roots, LeftBehind}

// Examine goes through all checks, group by group.
func Examine(s System) []Finding {
	var all []Finding
	for _, group := range groups {
		for _, checks := range [][]check{launcherChecks, startChecks, otherChecks} {
			for _, c := range checks {
				if c.group == group {
					all = append(all, c.findings(s)...)
				}
			}
		}
	}
	return all
}

// Unfit returns a *RefusedError if a launcher can hold no sandbox, and otherwise nil.
func Unfit(e Launcher) error { return refusal(run(launcherChecks, System{Launchers: []Launcher{e}})) }

// Start returns a *RefusedError if a watcher must not start with these facts, and otherwise nil. It needs no facts
// about the engine and the host: the launchers are open, so Unfit has already passed them.
func Start(s System) error { return refusal(run(startChecks, s)) }

func run(checks []check, s System) (all []Finding) {
	for _, c := range checks {
		all = append(all, c.findings(s)...)
	}
	return all
}

func (c check) findings(s System) []Finding {
	found := c.look(s)
	for i := range found {
		found[i].Group, found[i].Name = c.group, c.name
	}
	return found
}

// Names returns the names of all possible findings, in the order of the lists.
func Names() (names []string) {
	for _, checks := range [][]check{launcherChecks, startChecks, otherChecks} {
		for _, c := range checks {
			names = append(names, c.name)
		}
	}
	return names
}
