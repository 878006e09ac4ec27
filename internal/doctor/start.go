package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torno/sandbox"
)

// walls are the guarantees that every sandbox must have. No switch turns one off.
var walls = []sandbox.GuaranteeKey{
	sandbox.NoNetwork, sandbox.NoCapabilities, sandbox.NoNewPrivileges, sandbox.SyscallFilter, sandbox.ReadOnlyRoot, sandbox.Namespaces,
}

// launchers returns the names of the launchers with known guarantees, sorted.
func (s System) launchers() []string { return slices.Sorted(maps.Keys(s.Guarantees)) }

// noLauncher returns a finding if nothing is known of any launcher, and otherwise nil.
func (s System) noLauncher() []Finding {
	if len(s.Guarantees) > 0 {
		return nil
	}
	return []Finding{{
		Verdict: Unknown, Seen: "no sandbox could be tried: " + or(s.LauncherError, "there is no launcher"),
		Means: "it is not known which guarantees would be enforced", Do: "correct that first",
	}}
}

func lookAtWalls(s System) []Finding {
	found := s.noLauncher()
	for _, name := range s.launchers() {
		g := s.Guarantees[name]
		missing := g.Missing(walls)
		if len(missing) == 0 {
			found = append(found, Finding{
				Verdict: OK, Seen: fmt.Sprintf("%s enforces %s, according to %s", name, listed(walls), or(s.Asked, "the launcher")),
				Means: "the walls stand",
			})
		}
		for _, key := range missing {
			found = append(found, Finding{
				Verdict: Bad, Refuses: true, Seen: fmt.Sprintf("%s does not enforce %s: %s", name, key, or(g[key].By, "it does not say why")),
				Means: "no sandbox starts without it", Do: "correct that, or use another launcher",
			})
		}
	}
	return found
}

func lookAtBounds(s System) []Finding {
	found := s.noLauncher()
	for _, name := range s.launchers() {
		g := s.Guarantees[name]
		missing := g.Missing(sandbox.Acceptable)
		if len(missing) == 0 {
			found = append(found, Finding{
				Verdict: OK, Seen: fmt.Sprintf("%s enforces limits for %s", name, listed(sandbox.Acceptable)), Means: "a child cannot take the machine down with them",
			})
		}
		for _, key := range missing {
			found = append(found, s.unbounded(name, key, g[key].By))
		}
	}
	return found
}

// unbounded judges a missing limit without which one child can take the machine down.
func (s System) unbounded(launcher string, key sandbox.GuaranteeKey, why string) Finding {
	f := Finding{
		Verdict: Bad, Refuses: true, Seen: fmt.Sprintf("%s does not enforce a limit for %s: %s", launcher, key, why),
		Means: "one child can take the whole machine down", Do: "switch the cgroup controller on (on a Raspberry Pi: cgroup_enable=memory)",
		Accept: fmt.Sprintf("accept: [%s] in the configuration, and with --dir --accept %s", key, key), Limit: string(key),
	}
	if ourselves(s.Guarantees[launcher]) {
		f.Do = "delegate control groups of version 2 to the watcher (systemd: Delegate=yes), or run it as root"
	}
	if slices.Contains(s.Accept, key) {
		f.Refuses, f.Accept, f.Limit, f.Seen = false, "", "", f.Seen+"; the configuration accepts that"
	}
	return f
}

func lookAtDemands(s System) (found []Finding) {
	for _, p := range s.Profiles {
		g, known := s.Guarantees[p.Launcher]
		if !known {
			continue
		}
		for _, key := range g.Missing(p.AtLeast) {
			found = append(found, Finding{
				Verdict: Bad, Seen: fmt.Sprintf("profile %s demands %s: %s%s", p.Name, key, or(g[key].By, "it is not known here"), p.inFull()),
				Means: "every request for the profile is refused", Do: "correct that, or take " + string(key) + " out of at_least of profile " + p.Name,
			})
		}
	}
	if len(found) == 0 && len(s.Guarantees) > 0 {
		found = append(found, Finding{Verdict: OK, Seen: "all demands of the profiles are enforced", Means: "at_least refuses no request"})
	}
	return append(found, s.idleOutboxes()...)
}

// inFull returns why the watcher chose this launcher, in brackets, or "" if it did not choose.
func (p Profile) inFull() string {
	if p.Chosen == "" {
		return ""
	}
	return " (" + p.Chosen + ")"
}

// lookAtChoice tells which launcher the watcher chose for each profile that leaves the choice to it.
func lookAtChoice(s System) (found []Finding) {
	for _, p := range s.Profiles {
		if p.Chosen != "" {
			found = append(found, Finding{
				Verdict: OK, Seen: fmt.Sprintf("profile %s takes %s: %s", p.Name, p.Launcher, p.Chosen),
				Means: "the choice is made when a watcher starts, and stays until the watcher starts again",
			})
		}
	}
	if found == nil {
		found = []Finding{{Verdict: OK, Seen: "every profile names its launcher", Means: "there is nothing to choose"}}
	}
	return found
}

// idleOutboxes judges outboxes without an enforced profile: a watcher would refuse all their requests.
func (s System) idleOutboxes() (found []Finding) {
	cannot := map[string]bool{}
	for _, p := range s.Profiles {
		g, known := s.Guarantees[p.Launcher]
		cannot[p.Name] = known && len(g.Missing(p.AtLeast)) > 0
	}
	for _, o := range s.Outboxes {
		if len(o.Profiles) > 0 && !slices.ContainsFunc(o.Profiles, func(name string) bool { return !cannot[name] }) {
			found = append(found, Finding{
				Verdict: Bad, Refuses: true, Seen: fmt.Sprintf("outbox %s offers %s%s", o.Name, strings.Join(o.Profiles, ", "), s.whyOf(o.Profiles)),
				Means: "each of its profiles demands a guarantee that is not enforced here, so nothing could ever run",
				Do:    "take the demand out of at_least, or offer another profile",
			})
		}
	}
	return found
}

// whyOf returns why the watcher chose the launchers of these profiles, each sentence once.
func (s System) whyOf(profiles []string) string {
	var said []string
	for _, p := range s.Profiles {
		if slices.Contains(profiles, p.Name) && p.Chosen != "" && !slices.Contains(said, p.Chosen) {
			said = append(said, p.Chosen)
		}
	}
	if said == nil {
		return ""
	}
	return " (" + strings.Join(said, "; ") + ")"
}

func listed(keys []sandbox.GuaranteeKey) string {
	words := make([]string, len(keys))
	for i, key := range keys {
		words[i] = string(key)
	}
	return strings.Join(words, ", ")
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
