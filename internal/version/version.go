// Package version tells the version of this Torno. The Makefile sets Version from git. A program that was built in
// another way takes the version from the build information that Go puts into every binary. The package imports only the
// standard library, so that programs that are copied into untrusted containers may use it.
package version

import "runtime/debug"

// Version is set with -ldflags "-X torno/internal/version.Version=v1.2.3".
var Version string

// String returns the version, which is never empty: "v1.2.3", "v1.2.3-4-gabcdef0-dirty", "abcdef012345" or "unknown".
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

// fromBuild returns the module's version, which go install writes into the binary, or else the commit.
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
