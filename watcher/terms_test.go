package watcher

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
)

// under has the next watcher serve with a policy in which the desk's one profile is another.
func (d *desk) under(change func(*compile.Profile)) {
	d.Helper()
	d.crash()
	policy := &d.config.Outboxes[0].Policy
	policy.Profiles = append([]compile.Profile(nil), policy.Profiles...)
	change(&policy.Profiles[0])
	d.open()
}

// TestNoPolicyShortensARun: what a run was released with is its own, whatever the next watcher's policy says.
func TestNoPolicyShortensARun(t *testing.T) {
	for name, change := range map[string]func(*compile.Profile){
		"a shorter time": func(p *compile.Profile) { p.Timeout.Max = 2 * time.Second },
		"a smaller workspace": func(p *compile.Profile) {
			p.Limits.Workspace, p.Limits.WorkspaceFiles = 1, 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			for _, file := range []string{"one", "two"} {
				d.must(os.WriteFile(filepath.Join(a.workspace, file), []byte("more than a byte"), 0o644))
			}
			d.eventually("its client is told that it runs", func() bool { return !d.standsAt(a).Deadline.IsZero() })
			ends := d.standsAt(a).Deadline
			d.under(change)
			d.forward(time.Duration(unhurried) * time.Second / 2)
			d.clockSeen(a)
			if now := d.standsAt(a).Deadline; !now.Equal(ends) {
				t.Errorf("its client is told of the time %v, and was of %v", now, ends)
			}
			release()
			resp := d.response(a)
			d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			if len(resp.Warnings) > 0 {
				t.Errorf("it warns of %q", resp.Warnings)
			}
		})
	}
}

// TestNoPolicyLengthensARun: at the time that it was released with, its init kills it; the watcher ends it before that, and knows that end
// where no watcher was there.
func TestNoPolicyLengthensARun(t *testing.T) {
	const given = 20 * time.Minute
	asks := int(given / time.Second)
	for name, c := range map[string]struct {
		before, after compile.Timeouts
		first, then   int // the seconds that the request asks for, and asks for when its parent has changed it
	}{
		"another most":  {compile.Timeouts{Max: given}, compile.Timeouts{Max: 10 * time.Hour}, 7200, 7200},
		"another least": {compile.Timeouts{Min: given}, compile.Timeouts{Min: 10 * time.Hour}, 1, 1},
		"the request":   {compile.Timeouts{Max: 10 * time.Hour}, compile.Timeouts{Max: 10 * time.Hour}, asks, 7200},
	} {
		for how, byBackstop := range map[string]bool{"by the watcher": false, "by init": true} {
			t.Run(name+", "+how, func(t *testing.T) {
				d := newDesk(t, func(config *Config) { config.Outboxes[0].Policy.Profiles[0].Timeout = c.before })
				dies := make(chan struct{})
				d.world.Register("dies", func(ctx context.Context, _ sandboxtest.ProgramIO) int {
					select {
					case <-dies:
					case <-ctx.Done():
					}
					return 128 + 9
				})
				a := d.submit(ask{id: "s1", task: "dies", timeout: c.first})
				d.started(a)
				d.crash()
				d.age(given)
				if byBackstop {
					close(dies)
					d.exited()
				}
				a.timeout = c.then
				d.submit(a)
				d.config.Outboxes[0].Policy.Profiles[0].Timeout = c.after
				d.open()
				d.want(d.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
			})
		}
	}
}

// exited waits until the desk's one sandbox has ended by itself.
func (d *desk) exited() {
	d.Helper()
	d.eventually("the sandbox has ended", func() bool {
		all, err := d.world.Launcher(d.journal.Installation()).List(context.Background())
		d.must(err)
		return len(all) == 1 && all[0].State == sandbox.HandleExited
	})
}

// TestNoPolicyTakesAPauseBack: the time for which a run has waited does not count, also where the next watcher's policy lets it wait less, or
// has no approvals. What waited is denied then.
func TestNoPolicyTakesAPauseBack(t *testing.T) {
	for name, change := range map[string]func(*compile.Profile){
		"a shorter pause": func(p *compile.Profile) {
			p.Approvals = &approval.Policy{Expires: time.Hour, Pause: time.Second, DecidedBy: p.Approvals.DecidedBy}
		},
		"no approvals": func(p *compile.Profile) { p.Approvals = nil },
		"no agent":     func(p *compile.Profile) { p.Approvals, p.Agent, p.Command = nil, "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, askingProfile)
			k := d.asks()
			a := d.submit(ask{id: "s1", task: "first"})
			d.waiting(a, "first")
			d.overtime()
			d.overtime() // so that its pause is as long as its time
			d.clockSeen(a)
			d.under(change)
			d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
			if told := k.told(); told != "q0 false the run's permissions changed; the agent can ask again" {
				t.Errorf("it was told %s", told)
			}
		})
	}
}

// TestNoPolicyGivesAPause to a run whose init was given none, and would kill it.
func TestNoPolicyGivesAPause(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		askingProfile(c)
		c.Outboxes[0].Policy.Profiles[0].Approvals.Pause = 0
	})
	d.asks()
	a := d.submit(ask{id: "s1", task: "first|second"})
	d.waiting(a, "first")
	d.under(func(p *compile.Profile) {
		longer := *p.Approvals
		longer.Pause = time.Hour
		p.Approvals = &longer
	})
	d.waiting(a, "second")
	d.overtime()
	d.want(d.response(a), delegation.StatusTimeout, delegation.ReasonDeadline, -1)
}

// TestTheNextAttemptGoesByThePolicy of today, since another sandbox is made.
func TestTheNextAttemptGoesByThePolicy(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Outboxes[0].Policy.Profiles[0].Attempts = 2 })
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	handle := *d.latest("s1").Handle
	d.under(func(p *compile.Profile) { p.Timeout.Max = 30 * time.Second })
	d.world.Vanish(handle)
	d.eventually("the second attempt runs", func() bool { r := d.latest("s1"); return r.Attempt == 2 && r.State == delegation.StateRunning })
	if terms := d.latest("s1").Terms; terms == nil || terms.Timeout != 30*time.Second || len(terms.Process.Argv)+len(terms.Process.Env)+len(terms.Files) > 0 {
		t.Errorf("its terms are %+v", terms)
	}
	release()
	d.response(a)
}

// TestAPolicyThatAllowsARunNoMore ends it as the operator's doing, says so in a sentence, and ends nothing that has ended.
func TestAPolicyThatAllowsARunNoMore(t *testing.T) {
	renamed := func(d *desk) { d.config.Outboxes[0].Policy.Profiles[0].Name = "renamed" }
	elsewhere := func(d *desk) {
		d.must(os.MkdirAll(filepath.Join(d.outbox, "workspaces", "moved", "s1"), 0o755))
		root := filepath.Join(d.outbox, "workspaces")
		d.config.Outboxes[0].Policy.Paths = []compile.PathMap{{Parent: root, Here: filepath.Join(root, "moved")}}
	}
	for name, c := range map[string]struct {
		change func(*desk)
		ended  bool // its agent, by itself, before anybody looked
		reason delegation.Reason
		says   string
	}{
		"its profile has another name":      {renamed, false, delegation.ReasonOperator, "Profile is not on offer"},
		"its workspace is mapped elsewhere": {elsewhere, false, delegation.ReasonOperator, "now maps the workspace of this run to another directory"},
		"and it has ended, with its name":   {renamed, true, delegation.ReasonExited, ""},
		"and it has ended, elsewhere":       {elsewhere, true, delegation.ReasonExited, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			release := d.gate()
			a := d.submit(ask{id: "s1", task: "gated"})
			d.started(a)
			d.crash()
			if c.ended {
				release()
				d.exited()
			}
			c.change(d)
			d.open()
			resp := d.response(a)
			if resp.Reason != c.reason || (c.says == "") != (len(resp.Warnings) == 0) || !strings.Contains(strings.Join(resp.Warnings, "\n"), c.says) {
				t.Errorf("it ends as %s, and it is said: %q", resp.Reason, resp.Warnings)
			}
			d.empty()
		})
	}
}
