package mounts

import (
	"os"
	"strings"
	"testing"
)

// hostilePlace is an attack on the lookup of paths: entries for plant, and two places that a request names; @ is the root
// of the tree.
type hostilePlace struct {
	row                string // of docs/THREATS.md
	tree               []byte
	workspace, context string
}

// The directories and names of a ground by their numbers, for trees.
const (
	inAllow, inKept, inBox, inWorkspaces, inRead, inHidden, inOutside, inBeside, inAllowA = 0, 1, 2, 3, 4, 5, 6, 7, 8

	nameA, nameB, nameC, nameR, nameS1 = 0, 1, 2, 3, 8
	// the first directory that a tree adds
	added = 11
)

// What plant can make.
const (
	directory, absoluteLink, relativeLink, oddLink, file, hardLink, fifo = 0, 2, 3, 4, 5, 6, 7
)

var hostilePlaces = []hostilePlace{
	{"", nil, "/p/a", "/p/r"},
	{"", []byte{directory, inWorkspaces, nameS1, 0}, "workspaces/s1", "/outbox/workspaces/a"},
	{"", []byte{file, inRead, nameB, 0}, "@/allow/a", "@/read/b"},
	{"P1", nil, "/p/a/../a", "/p/../outside"},
	{"P1", []byte{absoluteLink, inAllow, nameB, inOutside, directory, inOutside, nameC, 0}, "/p/b/../c", ""},
	{"P1", []byte{absoluteLink, inAllow, nameB, inOutside}, "/p/b/../a", ""},
	{"P1", []byte{absoluteLink, inAllow, nameB, inAllowA, directory, inAllowA, nameC, 0}, "/p/b/../a", "/p/a/.."},
	{"P1", nil, "..", "workspaces/../../outside"},
	{"P2", nil, "//p//.//a/", "/p/r/."},
	{"P2", nil, "./workspaces//a/.", "workspaces"},
	{"P3", nil, "/\u0440/a", "/p/\uff0e\uff0e/outside"},
	{"P4", nil, "/p/" + strings.Repeat("d/", 2040), "/p/" + strings.Repeat("n", 256)},
	{"P4", nil, "/p" + strings.Repeat("/a", 129), ""},
	{"P5", nil, "/p", "@/allow"},
	{"P5", nil, "@/box/workspaces", ""},
	{"P5", nil, "/p/a", "@"},
	{"P6", nil, "/outbox", ""},
	{"P6", nil, "/p/a", "@/box"},
	{"P6", nil, "/", "/outbox/."},
	{"P7", nil, "@/hidden", ""},
	{"P7", nil, "/p/a", "@/hidden"},
	{"P8", nil, "/p/kept", ""},
	{"P8", nil, "/p/a", "/p/kept/a"},
	{"P9", nil, "/p/a", "/p/r/a"},
	{"P9", []byte{directory, inAllow, nameR, 0}, "/p/r", "@/allow/r"},
	{"P9", nil, "/p/docs", "/p/docs"},
	{"P9", []byte{directory, 10, nameA, 0}, "/p/docs/a", "@/allow/docs/a"},
	{"P9", []byte{directory, 10, nameA, 0}, "/p/a", "/p/docs/a"},
	{"P10", nil, "/pa", "/p-not/a"},
	{"P10", nil, "@/allow-not", "@/allow-not/a"},
	{"P10", nil, "/outboxworkspaces", "/p/rx"},
	{"P11", nil, "/proc/self/root", "/run/torno"},
	{"P15", []byte{absoluteLink, inAllow, nameB, inOutside}, "/p/b", "/p/b/secret"},
	{"P15", []byte{relativeLink, inAllow, nameB, inAllowA, directory, added, nameC, 0}, "/p/b/c", "/p/b"},
	{"P15", []byte{oddLink, inAllowA, nameB, 3, oddLink, inAllowA, nameC, 0}, "/p/a/b/etc", "/p/a/c"},
	{"P15", []byte{hardLink, inAllow, nameB, 0, fifo, inAllow, nameC, 0}, "/p/b", "/p/c"},
	{"P15", []byte{hardLink, inRead, nameB, 0}, "/p/a", "/p/r/b"},
	{"P15", []byte{relativeLink, inWorkspaces, nameS1, inHidden}, "workspaces/s1", ""},
	{"P16", []byte{relativeLink, inRead, nameA, inKept, absoluteLink, inAllow, nameB, inBox}, "/p/b", "/p/r/a"},
	{"P17", []byte{file, inAllow, nameB, inBeside}, "/p/b", "/p/b/x"},
	{"P19", nil, "/p/a", "/p/a/b"},
}

// TestHostilePlacesNeedTheirDefence is the oracle of FuzzResolve: a lookup that follows links, as the usual one does, is led
// out of the roots by some of the places that are its seeds.
func TestHostilePlacesNeedTheirDefence(t *testing.T) {
	astray := 0
	for _, attack := range hostilePlaces {
		w := newGround(t, attack.tree)
		for _, text := range []string{attack.workspace, attack.context} {
			here := w.named(strings.ReplaceAll(text, "@", w.root))
			if strings.HasPrefix(here, w.root+"/allow/") && exists(here) && !w.inside(here, w.policy.Allow) {
				astray++
			}
		}
	}
	if astray < 5 {
		t.Errorf("only %d places lead anybody astray", astray)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
