//go:build linux

package main_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// The agent of these tests is this program, which tries to connect to what agentVariable names. The others are told in ws and ctx.
const (
	agentVariable = "TORNO_TEST_CONNECTS"
	agentProgram  = "/srv/agent"
	lent          = "/srv/lent" // the profile's
	own           = ws + "/own" // the agent's
)

// connects says for each address whether it can be reached, one line each. Its own socket it makes first, and it moves a file from one directory
// to another, which a careless ruleset would forbid.
func connects(addresses string) error {
	listener, err := net.Listen("unix", own)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := errors.Join(os.MkdirAll(ws+"/a", 0o755), os.MkdirAll(ws+"/b", 0o755), os.WriteFile(ws+"/a/file", nil, 0o644)); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(ws+"/a/file", ws+"/b/file"), os.Link(ws+"/b/file", ws+"/a/file")); err != nil {
		return err
	}
	for address := range strings.SplitSeq(addresses, " ") {
		network, name, _ := strings.Cut(address, "!")
		conn, err := net.Dial(network, name)
		if err == nil {
			_, err = conn.Write([]byte("hello"))
			conn.Close()
		}
		var number syscall.Errno
		errors.As(err, &number)
		fmt.Println(address, unix.ErrnoName(number))
	}
	return nil
}

// socketBox is a box whose agent tries sockets: its own, the profile's, through a port as well, and some that lie in what it sees.
func socketBox(t *testing.T) *box {
	t.Helper()
	b := newBox(t, "")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lending := filepath.Join(t.TempDir(), "lent")
	for network, names := range map[string][]string{"unix": {lending, b.in("others"), filepath.Join(b.context, "others")}, "unixgram": {b.in("datagrams")}} {
		for _, name := range names {
			listen(t, network, name)
		}
	}
	if err := os.Symlink("others", b.in("link")); err != nil {
		t.Fatal(err)
	}
	b.plan.Binds = append(b.plan.Binds, bind{Source: lending, Target: lent, ReadOnly: true}, bind{Source: self, Target: agentProgram, ReadOnly: true})
	b.file.Mounts = append(b.file.Mounts, pinned(t, lending, runfile.Mount{Path: lent, Sockets: true}))
	b.file.Forwards = []runfile.Forward{{Port: 4000, Path: lent}}
	b.file.Argv = []string{agentProgram}
	b.file.Env = []string{"PATH=/usr/bin:/bin", agentVariable + "=unix!" + own + " unix!" + lent + " tcp!127.0.0.1:4000" +
		" unix!" + ws + "/others unix!" + ws + "/link unix!" + ctx + "/others unixgram!" + ws + "/datagrams"}
	b.file.Shut = true
	return b
}

// listen makes a socket of the host's that everybody may use.
func listen(t *testing.T, network, name string) {
	t.Helper()
	var closer interface{ Close() error }
	var err error
	if network == "unix" {
		closer, err = net.Listen(network, name)
	} else {
		closer, err = net.ListenUnixgram(network, &net.UnixAddr{Name: name, Net: network})
	}
	if err == nil {
		err = os.Chmod(name, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
}

// knowsSockets says whether the kernel's Landlock is new enough, by its version.
func knowsSockets() bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && version >= 9
}

// TestSocketsOfOthersAreRefused: an agent reaches its own sockets and the profile's, and none that others have made. Without Shut it reaches all.
func TestSocketsOfOthersAreRefused(t *testing.T) {
	if !knowsSockets() {
		t.Skip("NOT SHOWN HERE: the kernel's Landlock does not know sockets; test/machine has one that does")
	}
	for _, shut := range []bool{true, false} {
		b := socketBox(t)
		b.file.Shut = shut
		r := b.run(t)
		r.exits(t, 0)
		refused := map[bool]string{true: "EACCES", false: ""}[shut]
		want := fmt.Sprintf("unix!%[2]s \nunix!%[3]s \ntcp!127.0.0.1:4000 \nunix!%[4]s/others %[1]s\nunix!%[4]s/link %[1]s\nunix!%[5]s/others %[1]s\nunixgram!%[4]s/datagrams %[1]s\n",
			refused, own, lent, ws, ctx)
		if r.stdout != want {
			t.Errorf("shut %t:\n%s", shut, r.stdout)
		}
	}
}

// TestWhatCannotBeShutDoesNotRun: init demands of the kernel what the run file demands of init.
func TestWhatCannotBeShutDoesNotRun(t *testing.T) {
	if knowsSockets() {
		t.Skip("NOT SHOWN HERE: the kernel's Landlock knows sockets")
	}
	refuses(t, runfile.FailureSetup, []refusal{
		{"an old kernel", func(_ *testing.T, b *box) { b.file.Shut = true }, "sockets of others: the kernel cannot restrict sockets with Landlock"},
	})
}

// TestWhatATrialSays: the agent of a launcher's trial finds out whether this kernel can do what a run file may demand.
func TestWhatATrialSays(t *testing.T) {
	b := newBox(t, "")
	listen(t, "unix", b.in("others"))
	b.file.Argv = []string{runfile.Init, "shut", ws + "/others"}
	b.run(t).exits(t, map[bool]int{true: 0, false: runfile.CannotShut}[knowsSockets()])
}
