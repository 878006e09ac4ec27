package stage

import (
	"slices"
	"strings"
	"testing"
)

func TestCoversOfVolumes(t *testing.T) {
	covers, err := Covers([]string{"/data/", "/home/agent", "/tmp", "/var/lib/x"})
	if err != nil || !slices.Equal(covers, []string{"/data", "/var/lib/x"}) {
		t.Errorf("%v, %v", covers, err)
	}
	for _, bad := range []string{"/", "data", "/run", "/run/torno", "/run/torno/bin", "/run/torno/run/x"} {
		if covers, err := Covers([]string{bad}); err == nil {
			t.Errorf("%s is covered by %v", bad, covers)
		}
	}
	if _, err := Covers(strings.Split("/1 /2 /3 /4 /5 /6 /7 /8 /9", " ")); err == nil {
		t.Error("there is no end to volumes")
	}
}
