package main

import (
	"context"
	"os"
	"syscall"
	"unsafe"

	"github.com/google/subcommands"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/seccheck"
	"gvisor.dev/gvisor/runsc/boot/filter"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/flag"
)

// sentry is gVisor's command boot, which becomes a sandbox's kernel.
type sentry struct{ sentrycmd.Boot }

// Execute implements subcommands.Command.
func (s *sentry) Execute(ctx context.Context, f *flag.FlagSet, args ...any) subcommands.ExitStatus {
	if f.Lookup("setup-root").Value.String() == "true" {
		if conf := args[0].(*config.Config); !conf.Rootless && isNobody() {
			s.inPlace(f)
		}
	}
	registerFilters()
	go seccheck.Initialize() // takes 2 ms; boot waits for it only when it needs the result
	return s.Boot.Execute(ctx, f, args...)
}

// nobody is the user as which gVisor starts a sentry, in a user namespace of its own, when the sentry does not need the host's
// files.
const nobody = 65534

func isNobody() bool {
	return os.Getuid() == nobody && os.Geteuid() == nobody && os.Getgid() == nobody && os.Getegid() == nobody
}

// inPlace chooses how boot gives up its capabilities: all threads at once, as gVisor does it with directfs, and not by
// executing itself again as the user nobody, as which it already runs. gVisor would keep CAP_SYS_PTRACE, which systrap does not
// need here.
func (s *sentry) inPlace(f *flag.FlagSet) {
	if f.Lookup("apply-caps").Value.String() == "true" {
		return // gVisor has chosen already, with the capabilities that it wants to keep
	}
	if err := dropEverywhere(unix.CAP_SYS_PTRACE); err != nil {
		util.Fatalf("give up CAP_SYS_PTRACE: %v", err)
	}
	if err := f.Set("apply-caps", "true"); err != nil {
		util.Fatalf("give up capabilities in place: %v", err)
	}
}

// Every thread gives these to capset.
var (
	capHeader = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	capData   [2]unix.CapUserData
)

// dropEverywhere takes a capability from all threads. Ambient ones go with the permitted ones.
func dropEverywhere(capability uint) error {
	if err := unix.Capget(&capHeader, &capData[0]); err != nil {
		return err
	}
	half, bit := &capData[capability/32], uint32(1)<<(capability%32)
	half.Effective &^= bit
	half.Permitted &^= bit
	half.Inheritable &^= bit
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&capHeader)), uintptr(unsafe.Pointer(&capData[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// filters is where gVisor's sentry looks for its filter before it compiles one. gVisor's build writes into it; its Go
// module comes with an empty one.
//
//go:linkname filters gvisor.dev/gvisor/runsc/boot/filter.precompiledPrograms
var filters map[string]precompiledseccomp.Program

func registerFilters() {
	filter.ListPrecompiled() // makes the empty one
	for _, program := range compiledFilters() {
		filters[program.Name] = program
	}
}
