package doctor

// check looks at one thing. What it returns gets its name and its group.
type check struct {
	group Group
	name  string
	look  func(System) []Finding
}

// launcherChecks are about what launchers say of themselves. A launcher asks them before it makes anything.
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

// startChecks are about what is enforced with a configuration. A watcher asks them when its launchers are open.
var startChecks = []check{
	{Machine, "uids", lookAtUIDs},
	{Sandboxes, "walls", lookAtWalls},
	{Sandboxes, "bounds", lookAtBounds},
	{Sandboxes, "demands", lookAtDemands},
	{Sandboxes, "owners", lookAtOwners},
}

// otherChecks are worth knowing, and refuse nothing.
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

// groups are all of them, in their order.
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

// Unfit is a *RefusedError if a launcher can hold no sandbox, and otherwise nil.
func Unfit(e Launcher) error { return refusal(run(launcherChecks, System{Launchers: []Launcher{e}})) }

// Start is a *RefusedError if a watcher must not start with these facts, and otherwise nil. It needs no engine and no
// host: the launchers are open, so that what makes their sandboxes was fit.
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

// Names are the findings that there can be, in the order of the lists.
func Names() (names []string) {
	for _, checks := range [][]check{launcherChecks, startChecks, otherChecks} {
		for _, c := range checks {
			names = append(names, c.name)
		}
	}
	return names
}
