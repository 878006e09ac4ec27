package serve

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/configs"
	"torno/internal/doctor"
	"torno/sandbox"
	"torno/test/attack"
)

// weaknesses are what a machine may lack that its configuration counts on, and with what a watcher starts there all the same.
var weaknesses = map[string]struct {
	weaken func(*shop)
	says   string
	accept func(*shop) // nil where nothing does
}{
	"no limit of processes": {
		func(s *shop) { s.world.Enforce(sandbox.PidsLimit, false, "there is a reason") }, "limit for pids: there is a reason",
		func(s *shop) { s.config.Accept = []sandbox.GuaranteeKey{sandbox.PidsLimit} },
	},
	"no limit of memory": {
		func(s *shop) { s.world.Enforce(sandbox.MemoryLimit, false, "") }, "limit for memory",
		func(s *shop) { s.config.Accept = []sandbox.GuaranteeKey{sandbox.MemoryLimit} },
	},
	"another limit is accepted": {
		func(s *shop) {
			s.world.Enforce(sandbox.MemoryLimit, false, "")
			s.config.Accept = []sandbox.GuaranteeKey{sandbox.PidsLimit}
		}, "limit for memory", nil,
	},
	"a network": {
		func(s *shop) {
			s.world.Enforce(sandbox.NoNetwork, false, "")
			s.config.Accept = slices.Clone(sandbox.GuaranteeKeys)
		}, "does not enforce no_network", nil,
	},
	"no filter of system calls": {
		func(s *shop) {
			s.world.Enforce(sandbox.SyscallFilter, false, "")
			s.config.Accept = slices.Clone(sandbox.GuaranteeKeys)
		}, "does not enforce syscall_filter", nil,
	},
	"a demand that nothing meets": {
		func(s *shop) {
			s.world.Enforce(sandbox.KernelIsolation, false, "")
			s.config.Profiles[0].AtLeast = []sandbox.GuaranteeKey{sandbox.KernelIsolation}
		}, "nothing could ever run",
		func(s *shop) { s.config.Profiles[0].AtLeast = nil },
	},
	"ids of a user": {
		func(s *shop) { s.config.UIDs = configs.UIDs{First: 1, Count: 70_000} }, "would run as a user of this machine",
		func(s *shop) { s.config.UIDs = configs.UIDs{First: 2_000_000_000, Count: 256} },
	},
}

// TestNothingIsServedWithLess: a watcher does not start where less is enforced than the configuration reads, unless it
// says that less will do. What is accepted is the oracle: the same machine is served then.
func TestNothingIsServedWithLess(t *testing.T) {
	held, alive := 0, true
	for name, w := range weaknesses {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			w.weaken(s)
			err := s.start()
			refused, ok := errors.AsType[*doctor.RefusedError](err)
			if !ok || !strings.Contains(refused.Error(), w.says) || refused.Next() == "" {
				t.Fatalf("it ends with %v", err)
			}
			s.nothingIsHeld()
			if strings.Contains(s.said.String(), "msg=serving ") {
				t.Error("it served before that")
			}
			held++
			if w.accept == nil {
				return
			}
			w.accept(s)
			alive = alive && s.serves()
		})
	}
	attack.Record(t, attack.Trial{Row: "H7", Where: "fake", Tried: len(weaknesses), Held: held, Oracle: alive})
}

// start is how a host ends that does not serve. A host that does is stopped.
func (s *shop) start() error {
	ctx, stop := context.WithCancel(s.Context())
	defer stop()
	ended := make(chan error, 1)
	o := s.options()
	go func() { ended <- Run(ctx, o) }()
	s.eventually("it ends or serves", func() bool { return len(ended) > 0 || strings.Contains(s.said.String(), "msg=serving ") })
	stop()
	return <-ended
}

// serves says whether a host comes up and ends as it should.
func (s *shop) serves() bool {
	ended := s.open()
	s.signals <- syscall.SIGTERM
	s.end(ended)
	return strings.Contains(s.said.String(), "msg=serving ")
}

func TestChildrenAreNotRoots(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: the outbox belongs to whoever runs the test")
	}
	s := newShop(t)
	s.world.Enforce(sandbox.OwnIdentity, false, "by path")
	s.world.Enforce(sandbox.MountsByHandle, false, "by path")
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "no child runs as root") {
		t.Fatalf("it ends with %v", err)
	}
	s.config.Outboxes[0].Owners = []uint32{1000}
	if !s.serves() {
		t.Error("another owner does not help")
	}
}

// TestChildrenOfASelf: where children are the watcher's own user, an outbox of another user could serve no request.
func TestChildrenOfASelf(t *testing.T) {
	s := newShop(t)
	s.world.Enforce(sandbox.OwnIdentity, false, "we are not root")
	s.config.Outboxes[0].Owners = []uint32{4242}
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "no workspace could be written") {
		t.Fatalf("it ends with %v", err)
	}
	s.config.Outboxes[0].Owners = append(s.config.Outboxes[0].Owners, uint32(os.Geteuid()))
	if !s.serves() {
		t.Error("that we are an owner does not help")
	}
}
