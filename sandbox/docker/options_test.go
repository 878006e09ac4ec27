package docker

import (
	"testing"

	"torno/internal/mounts"
	"torno/sandbox/local"
)

func TestOptions(t *testing.T) {
	good := Options{Options: local.Options{Installation: "0123456789abcdef", StateDir: "/state", InitPath: "/init", Bases: &mounts.Bases{}}}
	checked, err := good.checked()
	if err != nil || checked.Mounts != MountAuto || checked.UIDs.First != 2_000_000_000 || checked.Observe == nil || checked.Log == nil {
		t.Errorf("defaults: %+v, %v", checked, err)
	}
	if here, err := checked.EnginePath("/x"); here != "/x" || err != nil {
		t.Errorf("the engine's view of /x is %q, %v", here, err)
	}
	for what, spoil := range map[string]func(*Options){
		"no installation": func(o *Options) { o.Installation = "" },
		"an unknown mode": func(o *Options) { o.Mounts = "by-magic" },
	} {
		bad := good
		spoil(&bad)
		if _, err := bad.checked(); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}
