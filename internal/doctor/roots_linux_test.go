package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLookAtRoots(t *testing.T) {
	dir := t.TempDir()
	found := LookAtRoots([]string{dir, filepath.Join(dir, "none")}, false)
	if len(found) != 2 || found[0].Missing || found[0].Error != "" || found[0].FileSystem == "" || found[0].Size == 0 || !found[0].NotTried {
		t.Errorf("a directory is %+v", found)
	}
	if !found[1].Missing {
		t.Errorf("a missing one is %+v", found[1])
	}
}

// TestIDMapsAreReallyTried: the outcome is the kernel's, and a root that it refuses is told of.
func TestIDMapsAreReallyTried(t *testing.T) {
	host := LookAtHost(os.DirFS("/"))
	if !host.MayMount {
		t.Skip("NOT SHOWN HERE: only who may mount can try it")
	}
	found := LookAtRoots([]string{t.TempDir(), "/proc"}, true)
	if found[0].IDMap != "" {
		t.Errorf("%+v; is the directory for tests on a file system without idmapped mounts?", found[0])
	}
	if found[1].IDMap == "" {
		t.Errorf("/proc was mounted with exchanged ids: %+v", found[1])
	}
}

func TestQuotasInMountOptions(t *testing.T) {
	for entry, want := range map[string]bool{
		"36 35 8:1 / /home rw,noatime - ext4 /dev/sda1 rw,prjquota":                    true,
		"36 35 8:1 / /home rw - xfs /dev/sda1 rw,attr2,usrquota,grpquota":              true,
		"36 35 8:1 / /home rw - ext4 /dev/sda1 rw,usrjquota=aquota.user,jqfmt=vfsv0\n": true,
		"36 35 8:1 / /home/prjquota rw - xfs /dev/prjquota rw,noquota":                 false,
		"36 35 8:1 / /prjquota rw - ext4 /dev/sda1 rw":                                 false,
	} {
		if hasQuota(entry) != want {
			t.Errorf("%q has quotas: %v", entry, !want)
		}
	}
}
