package mounts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzMountInfo writes mounts as the kernel does and reads them back: whatever is in the name of a directory, which
// any user may have chosen, the mount is found where it lies and no other one appears.
func FuzzMountInfo(f *testing.F) {
	for _, name := range []string{
		"/srv/plain", "/srv/a b", "/srv/a\nb", "/srv/a\tb", `/srv/a\b`, `/srv/a\040b`, "/srv/#a", "/srv/a\u00a0b", "/srv/a\u0085b", "/srv/a\vb\fc\rd", "/srv/\u2003", "/srv/ü\xff",
		"/srv/x\n27 1 254:0 / /etc rw - ext4 d rw", "/srv/x shared:9 -", "",
	} {
		f.Add(name, name, "/dev/vda", true)
		f.Add("/", name, "a b", false)
	}
	f.Fuzz(func(t *testing.T, root, point, device string, shared bool) {
		if strings.ContainsRune(root+point+device, 0) || root == "" || point == "" || device == "" {
			return // the kernel has no such names
		}
		tag := ""
		if shared {
			tag = " shared:1 master:2"
		}
		before := "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
		line := fmt.Sprintf("30 27 0:25 %s %s rw,relatime%s - ext4 %s rw\n", mangled(root), mangled(point), tag, mangled(device))
		infos, err := parseMountInfo([]byte(before + line + strings.Replace(before, "27", "31", 1)))
		want := mountInfo{id: 30, parent: 27, device: "0:25", root: root, point: point, shared: shared, kind: "ext4", source: device}
		if err != nil || len(infos) != 3 || infos[30] != want {
			t.Errorf("%s is read as %+v, %v", line, infos, err)
		}
	})
}

// mangled is a name as the kernel writes it into the table.
func mangled(name string) string {
	var out strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(" \t\n\\#", c) >= 0 {
			fmt.Fprintf(&out, "\\%03o", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// FuzzMountInfoText: of a table of another form nothing is guessed.
func FuzzMountInfoText(f *testing.F) {
	f.Add(someMounts)
	f.Add("27 1 254:0 / / rw - ext4 /dev/vda\n27 1")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		infos, err := parseMountInfo([]byte(text))
		if err != nil && infos != nil {
			t.Errorf("%q: %v beside %v", text, infos, err)
		}
		if len(infos) > strings.Count(text, "\n")+1 {
			t.Errorf("%d mounts in %q", len(infos), text)
		}
		for id, info := range infos {
			if info.id != id || info.point == "" || info.root == "" {
				t.Errorf("%q: %+v", text, info)
			}
		}
	})
}

// TestMountInfoOfNamesWithOtherSpace asks the real kernel, which escapes a blank and leaves other space as it is.
func TestMountInfoOfNamesWithOtherSpace(t *testing.T) {
	needRoot(t)
	for _, name := range []string{"a b", "a\u00a0b", "a\vb", "a\rb", "\u2003", "a\u0085", `a\040b`, "#"} {
		place := filepath.Join(t.TempDir(), name)
		must(t, os.Mkdir(place, 0o755))
		tmpfs(t, place)
		if points := mountsBelow(t, place); !slices.Equal(points, []string{place}) {
			t.Errorf("the mount at %q is found at %q", place, points)
		}
	}
}
