// Program runsc is gVisor's, of the version that go.mod names, built as Torno needs it. It takes the commands of an OCI
// runtime, so an engine can use it, too. Of gVisor's code the patches in patches/ change a few lines; each has a page beside it that
// says why. Everything else that is different is around gVisor's code:
//
//   - The filter of gVisor's own kernel (the sentry) comes compiled, as in the builds that gVisor publishes; from its Go
//     module alone every start would compile it, 8 ms. See filters.go.
//   - The sentry gives up its rights in place. Without directfs gVisor has it execute itself once more for that, 10 ms. See
//     sentry.go.
//   - The first garbage collection waits. See heap.go.
//   - The helper that unmounts the sentry's /proc is done before most of gVisor begins. See early.
//   - It is 35 MB and not 83: a program for saving file systems, of 47 MB, is not embedded, and there are no commands to save
//     a sandbox.
//   - Go's runtime does not look at the host's control groups: the sentry is told how many processors it has, and should not
//     hold files of the host's open.
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
