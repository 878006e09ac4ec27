package doctor

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func packed(t *testing.T, s string) *fstest.MapFile {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestLookAtHost(t *testing.T) {
	got := LookAtHost(fstest.MapFS{
		"proc/sys/kernel/osrelease":                             text("6.1.0\n"),
		"proc/sys/kernel/core_pattern":                          text("|/bin/x %p\n"),
		"proc/sys/kernel/unprivileged_userns_clone":             text("0\n"),
		"proc/sys/kernel/apparmor_restrict_unprivileged_userns": text("1\n"),
		"proc/sys/user/max_user_namespaces":                     text("77\n"),
		"proc/sys/fs/inotify/max_user_instances":                text("128\n"),
		"proc/self/status":                                      text("Name:\tx\nCapEff:\t0000000000200000\n"),
		"proc/meminfo":                                          text("MemTotal: 5 kB\nSwapTotal:     2048 kB\n"),
		"etc/os-release":                                        text("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
		"var/lib/rpm/rpmdb.sqlite":                              text(""),
	})
	want := Host{
		Kernel: "6.1.0", Root: got.Root, MayMount: true, Distribution: "Debian GNU/Linux 12", MaxUserNamespaces: "77", UnprivilegedUserns: "0",
		AppArmorUserns: "1", CorePattern: "|/bin/x %p", InotifyInstances: "128", SwapKiB: 2048, Packages: Packages{Manager: "rpm"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if nothing := LookAtHost(fstest.MapFS{}); nothing.MayMount || nothing.Kernel != "" || nothing.Packages.Manager != "" {
		t.Errorf("a machine that says nothing is %+v", nothing)
	}
}

func TestDebianPackages(t *testing.T) {
	got := lookAtPackages(fstest.MapFS{
		"var/lib/dpkg/status": text("Package: runc\nStatus: install ok installed\nMaintainer: x\nVersion: 1.1.5+ds1-1+deb12u1\nDescription: y\n Version: 9\n\n" +
			"Package: crun\nStatus: deinstall ok config-files\nVersion: 1.0\n\n" +
			"Package: bash\nStatus: install ok installed\nVersion: 5\n\n" +
			"Package: docker.io\nStatus: install ok installed\nVersion: 20.10.24+dfsg1-1\n"),
		"usr/share/doc/runc/changelog.Debian.gz":      packed(t, "runc (1.1.5)\n  * CVE-2024-21626: a hole; CVE-2023-25809\n"),
		"usr/share/doc/docker.io/changelog.Debian.gz": text("not packed CVE-2024-41110"),
	})
	want := Packages{Manager: "dpkg", Installed: []Package{
		{Name: "runc", Version: "1.1.5+ds1-1+deb12u1", Mends: []string{"CVE-2024-21626", "CVE-2023-25809"}},
		{Name: "docker.io", Version: "20.10.24+dfsg1-1"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestALongChangelogIsNotReadToItsEnd: it is a file of the distribution's, and not worth our memory.
func TestALongChangelogIsNotReadToItsEnd(t *testing.T) {
	long := slices.Concat(bytes.Repeat([]byte("nothing to be seen here\n"), maxChangelog/24+1), []byte("CVE-2024-21626\n"))
	got := mentioned(fstest.MapFS{"usr/share/doc/runc/changelog.Debian.gz": packed(t, string(long))}, "runc")
	if len(got) > 0 {
		t.Errorf("it was read to its end: %v", got)
	}
}
