package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// advisory is a hole through which a child, or what it left, could reach the host, and the first versions without it.
type advisory struct {
	component string
	ids       []string
	fixes     []version // one for each branch, the newest last
	means     string
	minor     bool // it takes more than a child: an odd image, or a careless operator
}

// advisoriesKnown is how far the list goes. Later ones are for the operator to hear of.
const advisoriesKnown = "July 2026"

var advisories = []advisory{
	{
		component: "runc", ids: []string{"CVE-2021-30465"}, fixes: []version{{1, 0, 0, 95}},
		means: "whoever swaps links in a mounted directory at the right moment gets the host's files mounted",
	},
	{
		component: "runc", ids: []string{"CVE-2024-21626"}, fixes: []version{{1, 1, 12, released}},
		means: "a descriptor of the host's root leaks into containers, through which an image can leave",
	},
	{
		component: "runc", ids: []string{"CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"},
		fixes: []version{{1, 2, 8, released}, {1, 3, 3, released}, {1, 4, 0, 3}},
		means: "links that are swapped while a container is set up make runc write to the host's /proc",
	},
	{
		component: "runc", ids: []string{"CVE-2026-41579"}, minor: true,
		fixes: []version{{1, 3, 6, released}, {1, 4, 3, released}, {1, 5, 0, 3}},
		means: "an image whose /dev is a link gets a little write access to the host",
	},
	{
		component: "crun", ids: []string{"CVE-2025-24965"}, fixes: []version{{1, 20, 0, released}}, minor: true,
		means: "with its krun handler an image can have files made outside of its root",
	},
	{
		component: "engine", ids: []string{"CVE-2026-41567"}, fixes: []version{{29, 5, 1, released}}, minor: true,
		means: "a compressed archive that you copy into a container is unpacked by programs of that container; Torno never does",
	},
}

// lookAtAdvisories holds every component against the list.
func lookAtAdvisories(s System) (found []Finding) {
	for _, e := range s.Engines {
		for _, c := range e.Components {
			known := slices.DeleteFunc(slices.Clone(advisories), func(a advisory) bool { return a.component != c.Name })
			if len(known) > 0 {
				found = append(found, c.judge(known, s.Host.Packages)...)
			}
		}
	}
	return found
}

// judge says what is to be said of a component: one sentence if its number is beyond all advisories.
func (c Component) judge(known []advisory, packages Packages) (found []Finding) {
	have, _, ok := parseVersion(c.Version)
	if !ok {
		return []Finding{{
			Verdict: Unknown, Seen: fmt.Sprintf("%s says that its version is %q", c.Name, c.Version),
			Means: "it cannot be held against the advisories that Torno knows", Do: "ask its distributor",
		}}
	}
	for _, a := range known {
		if !have.has(a.fixes) {
			found = append(found, c.old(a, packages))
		}
	}
	if len(found) == 0 {
		found = append(found, Finding{
			Verdict: OK, Seen: c.Name + " " + c.Version,
			Means: "it is newer than every advisory about it that Torno knows, up to " + advisoriesKnown,
		})
	}
	return found
}

// old is for a version whose number is below the fix.
func (c Component) old(a advisory, packages Packages) Finding {
	ids := strings.Join(a.ids, ", ")
	f := Finding{
		Verdict: Bad, Seen: fmt.Sprintf("%s %s is older than the fix of %s", c.Name, c.shown(), ids), Means: a.means,
		Do: fmt.Sprintf("update %s to %s or newer", c.Name, a.fixed()),
	}
	if a.minor {
		f.Verdict = Warn
	}
	switch by := packages.of(c); {
	case by.built == upstream:
	case by.mends(a.ids):
		f.Verdict, f.Do = OK, ""
		f.Seen = fmt.Sprintf("%s %s; the changelog of the package says that %s is mended", c.Name, c.shown(), ids)
		f.Means = "the distribution keeps the number and mends what is in it"
	default:
		f.Verdict = Unknown
		f.Seen += " upstream; whether this package mends it is not said in its changelog"
		f.Do = "ask your distribution about " + ids
	}
	return f
}

// shown is the version with what tells builds apart.
func (c Component) shown() string {
	if strings.HasPrefix(c.Build, strings.TrimPrefix(c.Version, "v")) || strings.HasPrefix(c.Build, "v"+c.Version) {
		return c.Build
	}
	return c.Version
}

// fixed are the first versions without a hole.
func (a advisory) fixed() string {
	var all []string
	for _, v := range a.fixes {
		text := fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		if v[3] != released {
			text += fmt.Sprintf("-rc.%d", v[3])
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
