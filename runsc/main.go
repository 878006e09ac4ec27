// Program runsc is gVisor's runsc, of the version that go.mod names, built as Torno needs it. It takes the commands of
// an OCI runtime, so an engine can use it, too. The patches in patches/ change a few lines of gVisor's code; each patch
// has a page beside it that says why. All other differences are around gVisor's code:
//
//   - The filter of gVisor's own kernel (the sentry) comes compiled, as in the builds that gVisor publishes. Built from
//     gVisor's Go module alone, the sentry would compile it at every start, which takes 8 ms. See filters.go.
//   - The sentry gives up its rights in place. Without directfs, gVisor would make it execute itself once more for
//     this, which takes 10 ms. See sentry.go.
//   - The first garbage collection waits. See heap.go.
//   - The helper that unmounts the sentry's /proc is done before most of gVisor is initialized. See early.
//   - It is 35 MB instead of 83: it does not embed a program for saving file systems (47 MB), and it has no commands to
//     save a sandbox.
//   - Go's runtime does not look at the host's control groups. The sentry is told how many processors it has, and
//     should not keep files of the host open.
//
//go:debug containermaxprocs=0
package main

import (
	_ "early"

	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
)

func main() {
	collectLate()
	const users, internal = "", "internal use only"
	cli.Run(nil, map[util.SubCommand]string{
		new(cmd.Create):   users,
		new(cmd.Debug):    users,
		new(cmd.Delete):   users,
		new(cmd.Events):   users,
		new(cmd.Exec):     users,
		new(cmd.Features): users,
		new(cmd.Kill):     users,
		new(cmd.List):     users,
		new(cmd.PS):       users,
		new(cmd.Pause):    users,
		new(cmd.Resume):   users,
		new(cmd.Run):      users,
		new(cmd.Start):    users,
		new(cmd.State):    users,
		new(cmd.Update):   users,
		new(cmd.Wait):     users,

		new(sentry):           internal,
		new(cmd.Gofer):        internal,
		new(sentrycmd.Umount): internal,
	}, nil)
}
