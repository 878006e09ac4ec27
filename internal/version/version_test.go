package version

import (
	"runtime/debug"
	"testing"
)

func TestStringPrefersWhatTheBuildSet(t *testing.T) {
	if got := orFromBuild("v9.8.7"); got != "v9.8.7" {
		t.Errorf("it is %q", got)
	}
	if got := orFromBuild(""); got == "" {
		t.Error("it is empty")
	}
}

func TestFromBuild(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := setting("vcs.revision", "0123456789abcdef0123456789abcdef01234567")
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":             {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{commit}},
		"0123456789ab":       {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit, setting("vcs.modified", "false")}},
		"0123456789ab-dirty": {Settings: []debug.BuildSetting{setting("vcs.modified", "true"), commit}},
		"unknown":            {Settings: []debug.BuildSetting{setting("vcs.modified", "true")}},
	} {
		if got := fromBuild(&info); got != want {
			t.Errorf("fromBuild(%+v) = %q, want %q", info, got, want)
		}
	}
}
