package mounts

import (
	"errors"
	"testing"
)

const someMounts = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:25 / /run rw shared:5 - tmpfs tmpfs rw
31 30 0:25 /torno /run/torno rw,nosuid shared:7 master:2 - tmpfs tmpfs rw
32 27 254:0 /srv/a\040b /srv/a\040b rw master:3 propagate_from:2 - ext4 /dev/vda rw
33 27 254:0 /srv/c /srv/d rw - ext4 /dev/vda rw
34 31 0:25 /torno /run/torno rw - tmpfs tmpfs rw
`

func TestMountInfo(t *testing.T) {
	infos, err := parseMountInfo([]byte(someMounts))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint64]struct {
		point          string
		shared, itself bool
	}{
		27: {"/", false, false},
		30: {"/run", true, false},
		31: {"/run/torno", true, true},
		32: {"/srv/a b", false, true},
		33: {"/srv/d", false, false},
		34: {"/run/torno", false, true}, // on top of the other
		99: {"", false, false},
	} {
		info := infos[id]
		if info.point != want.point || info.shared != want.shared || bindsItself(infos, id) != want.itself {
			t.Errorf("%d: %+v, binds itself: %v", id, info, bindsItself(infos, id))
		}
	}
}

func TestMountInfoOfAnotherForm(t *testing.T) {
	for _, line := range []string{"\n", "27 1 254:0 / /\n", "x 1 254:0 / / rw - ext4 /dev/vda rw\n", "1 x 254:0 / / rw - ext4 /dev/vda rw\n"} {
		if _, err := parseMountInfo([]byte(line)); !errors.Is(err, errMountInfo) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
