package doctor

import (
	"reflect"
	"testing"
	"testing/fstest"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

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
	})
	want := Host{
		Kernel: "6.1.0", Root: got.Root, MayMount: true, Distribution: "Debian GNU/Linux 12", MaxUserNamespaces: "77", UnprivilegedUserns: "0",
		AppArmorUserns: "1", CorePattern: "|/bin/x %p", InotifyInstances: "128", SwapKiB: 2048,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if nothing := LookAtHost(fstest.MapFS{}); nothing.MayMount || nothing.Kernel != "" {
		t.Errorf("a machine that says nothing is %+v", nothing)
	}
}
