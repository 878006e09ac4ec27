package local

import (
	"testing"

	"torno/internal/mounts"
)

func TestOptions(t *testing.T) {
	good := Options{Installation: "0123456789abcdef", StateDir: "/state", InitPath: "/init", Bases: &mounts.Bases{}}
	checked, err := good.Checked()
	if err != nil || checked.UIDs.First != 2_000_000_000 || checked.Log == nil {
		t.Errorf("defaults: %+v, %v", checked, err)
	}
	for what, spoil := range map[string]func(*Options){
		"a short id":        func(o *Options) { o.Installation = "0123" },
		"an id of capitals": func(o *Options) { o.Installation = "0123456789ABCDEF" },
		"a relative state":  func(o *Options) { o.StateDir = "state" },
		"no init":           func(o *Options) { o.InitPath = "" },
		"no roots":          func(o *Options) { o.Bases = nil },
		"ids from root":     func(o *Options) { o.UIDs = UIDRange{First: 0, Count: 5} },
		"no ids":            func(o *Options) { o.UIDs = UIDRange{First: 5} },
		"ids beyond":        func(o *Options) { o.UIDs = UIDRange{First: 1<<31 - 3, Count: 3} },
	} {
		bad := good
		spoil(&bad)
		if _, err := bad.Checked(); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	if checked, err := (Options{Installation: good.Installation, StateDir: good.StateDir}).CheckedForPurge(); err != nil || checked.Log == nil {
		t.Errorf("for a purge: %+v, %v", checked, err)
	}
}
