package doctor

import (
	"fmt"
	"strings"
	"testing"

	"torno/test/attack"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"1.1.5+ds1-1+deb12u1": "1.1.5 +ds1-1+deb12u1", "v1.1.12-0-g51d5e94": "1.1.12 -0-g51d5e94", "1.0.0-rc93": "1.0.0rc93 ",
		"1.0.0~rc93+ds1-5+deb11u3": "1.0.0rc93 +ds1-5+deb11u3", "1.4.0-rc.3": "1.4.0rc3 ", "1.20": "1.20.0 ", "1:1.3.3-1.el9": "1.3.3 -1.el9",
		"20.10.24+dfsg1": "20.10.24 +dfsg1", "6.18.44-fc-v509": "6.18.44 -fc-v509", "1.6.20~ds1": "1.6.20 ~ds1",
		"release-20230320.0": "none", "5d6db84": "none", "": "none", "N/A": "none", "99999999999999999999.1": "none",
	} {
		v, rest, ok := parseVersion(text)
		got := fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		if v[3] != released {
			got += fmt.Sprintf("rc%d", v[3])
		}
		if got += " " + rest; !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestFixesAreOfBranches(t *testing.T) {
	fixes := []version{{1, 2, 8, released}, {1, 3, 3, released}, {1, 4, 0, 3}}
	for text, want := range map[string]bool{
		"1.1.15": false, "1.2.7": false, "1.2.8": true, "1.2.9": true, "1.3.0": false, "1.3.3": true, "1.4.0-rc.2": false, "1.4.0-rc.3": true,
		"1.4.0": true, "1.5.1": true, "2.0.0": true, "1.3.3-rc.1": false,
	} {
		if v, _, _ := parseVersion(text); v.has(fixes) != want {
			t.Errorf("%s has the fix: %v", text, !want)
		}
	}
}

// debian is a Debian machine with a package of the component.
func debian(name, version string, mends ...string) Packages {
	return Packages{Manager: "dpkg", Installed: []Package{{Name: name, Version: version, Mends: mends}}}
}

// TestOldRuntimesAreReported: the number of a version is a proof only where nobody else has built it.
func TestOldRuntimesAreReported(t *testing.T) {
	const trio = "CVE-2025-31133"
	tests := []struct {
		name      string
		component Component
		packages  Packages
		advisory  string
		want      Verdict
	}{
		{"upstream's build", Component{"runc", "1.1.11", "v1.1.11-0-g4bccb38"}, debian("runc", "1.1.11-1", "CVE-2024-21626"), "CVE-2024-21626", Bad},
		{"upstream's build, mended", Component{"runc", "1.1.12", "v1.1.12-0-g51d5e94"}, Packages{}, "CVE-2024-21626", ""},
		{"upstream's build, another hole", Component{"runc", "1.1.12", "v1.1.12-0-g51d5e94"}, Packages{}, trio, Bad},
		{"no package manager", Component{"runc", "1.2.5", ""}, Packages{}, trio, Bad},
		{"the changelog says so", Component{"runc", "1.1.5+ds1", "1.1.5+ds1-1+deb12u1"}, debian("runc", "1.1.5+ds1-1+deb12u1", "CVE-2024-21626"), "CVE-2024-21626", OK},
		{"the changelog does not", Component{"runc", "1.1.5+ds1", "1.1.5+ds1-1+deb12u1"}, debian("runc", "1.1.5+ds1-1+deb12u1", "CVE-2024-21626"), trio, Unknown},
		{"it says half of it", Component{"runc", "1.1.5", "1.1.5-1"}, debian("runc", "1.1.5-1", trio, "CVE-2025-52565"), trio, Unknown},
		{"a package of another version", Component{"runc", "1.1.5", "1.1.5-1"}, debian("runc", "1.1.9-1", trio, "CVE-2025-52565", "CVE-2025-52881"), trio, Unknown},
		{"a package of something else", Component{"runc", "1.1.5", "1.1.5-1"}, debian("crun", "1.1.5-1", trio, "CVE-2025-52565", "CVE-2025-52881"), trio, Unknown},
		{"no changelog is kept", Component{"runc", "1.1.9", ""}, debian("runc", "1.1.9-0ubuntu1"), trio, Unknown},
		{"RPM mends in silence", Component{"runc", "1.1.9", ""}, Packages{Manager: "rpm"}, trio, Unknown},
		{"a small hole", Component{"runc", "1.4.2", "v1.4.2-0-g1234567"}, Packages{}, "CVE-2026-41579", Warn},
		{"crun", Component{"crun", "1.19", "1.19"}, Packages{}, "CVE-2025-24965", Warn},
		{"crun, mended", Component{"crun", "1.20", "1.20"}, Packages{}, "CVE-2025-24965", ""},
		{"the engine", Component{"engine", "29.5.0", ""}, Packages{}, "CVE-2026-41567", Warn},
		{"no number", Component{"runc", "N/A", ""}, Packages{}, "N/A", Unknown},
	}
	held := 0
	for _, test := range tests {
		if got := verdictOn(test.component, test.packages, test.advisory); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		} else {
			held++
		}
	}
	// The oracle: what is said of an old one is said of its age, and not of everything.
	quiet := verdictOn(Component{"runc", "1.4.3", "v1.4.3-0-g1234567"}, Packages{}, trio) == ""
	attack.Record(t, attack.Trial{Row: "H6", Where: "host", Tried: len(tests), Held: held, Oracle: quiet})
}

// verdictOn is what is said of an advisory, or "".
func verdictOn(c Component, p Packages, id string) Verdict {
	s := fit()
	s.Engines[0].Components, s.Host.Packages = []Component{c}, p
	for _, f := range Advisories(s) {
		if strings.Contains(f.Seen, id) {
			return f.Verdict
		}
	}
	return ""
}

func TestAdvisoriesAreWhole(t *testing.T) {
	for _, a := range advisories {
		if packageNames[a.component] == nil || len(a.fixes) == 0 || a.means == "" {
			t.Errorf("%+v", a)
		}
		for _, id := range a.ids {
			if !advisoryID.MatchString(id) {
				t.Errorf("%q is no id", id)
			}
		}
	}
	if got := advisories[2].fixed(); got != "1.2.8, 1.3.3, 1.4.0-rc.3" {
		t.Errorf("it is mended in %s", got)
	}
}
