// Package version says which Torno this is. The Makefile sets Version from git; a program that was built without it asks
// the build information that Go puts into every binary. It imports the standard library only, so that what is copied
// into untrusted containers may use it.
package version

import "runtime/debug"

// Version is set with -ldflags "-X torno/internal/version.Version=v1.2.3".
var Version string

// String is the version, never empty: "v1.2.3", "v1.2.3-4-gabcdef0-dirty", "abcdef012345" or "unknown".
func String() string { return orFromBuild(Version) }

func orFromBuild(set string) string {
	if set != "" {
		return set
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fromBuild(info)
}

// fromBuild prefers the module's version, which go install writes down, to the commit.
func fromBuild(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, suffix string
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			suffix = "-dirty"
		}
	}
	if commit == "" {
		return "unknown"
	}
	return commit + suffix
}
