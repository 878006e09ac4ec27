package local

import (
	"slices"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/test/attack"
)

// aSpec has a mount below a prefix and a socket.
var aSpec = sandbox.Spec{
	Mounts:  []sandbox.Mount{{Target: "/srv/work/s1", Prefix: "/srv/work"}},
	Sockets: []sandbox.Socket{{Target: "/var/model.sock"}},
}

func TestCoversOfVolumes(t *testing.T) {
	covers, err := Covers([]string{"/data/", "/home/agent", "/tmp", "/var/lib/x", "/srv/work", "/srv/work/s1", "/home/other"}, aSpec)
	if err != nil || !slices.Equal(covers, []string{"/data", "/var/lib/x", "/home/other"}) {
		t.Errorf("%v, %v", covers, err)
	}
	for _, bad := range []string{"/", "data"} {
		if covers, err := Covers([]string{bad}, aSpec); err == nil {
			t.Errorf("%s is covered by %v", bad, covers)
		}
	}
	if _, err := Covers(strings.Split("/1 /2 /3 /4 /5 /6 /7 /8 /9", " "), aSpec); err == nil {
		t.Error("there is no end to volumes")
	}
}

// TestVolumesOverWhatIsOurs: an image asks for an empty directory, which its child may write, over what the sandbox stands on.
// The oracle has nothing reserved, and lays a directory over each of them.
func TestVolumesOverWhatIsOurs(t *testing.T) {
	trial := attack.Trial{Row: "R7", Where: "covers", Oracle: true}
	for _, bad := range []string{
		"/proc", "/proc/self", "//proc/", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm", "/etc", "/etc/passwd", "/run", "/run/torno",
		"/run/torno/bin", "/run/torno/run/x", "/tmp/x", "/home", "/home/agent/.config", "/srv", "/srv/work/s2", "/srv/work/s1/x", "/x/../proc",
		"/var", "/var/model.sock/x",
	} {
		trial.Tried++
		if covered, err := Covers([]string{bad}, aSpec); err != nil {
			trial.Held++
		} else {
			t.Errorf("%s is covered by %v", bad, covered)
		}
		covered, err := covers([]string{bad}, nil, nil)
		trial.Oracle = trial.Oracle && err == nil && len(covered) == 1
	}
	attack.Record(t, trial)
}
