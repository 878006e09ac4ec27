package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"torno/configs"
	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// NoLauncherError says why there is no launcher for the profiles that leave the choice to the watcher.
type NoLauncherError struct {
	Why      []error
	Remedies []string // how to make each launcher usable
}

func (e *NoLauncherError) Error() string {
	all := make([]string, len(e.Why))
	for i, err := range e.Why {
		all[i] = err.Error()
	}
	return "no launcher can be used: " + strings.Join(all, "; ")
}

func (e *NoLauncherError) Unwrap() []error { return e.Why }

// obstacle says why a launcher is not chosen for a profile.
type obstacle struct {
	weight weight
	says   string // for parents too, so it tells nothing about the host
	err    error  // for the operator
}

// weight orders obstacles. The launcher with the least obstacle is chosen.
type weight int

const (
	none    weight = iota
	lesser         // it does not enforce all that the profile demands, so its requests would be refused
	unfit          // it lacks a guarantee that every start demands, so it could start no sandbox
	without        // it cannot be used, or not with this root file system
)

// decide gives every profile a launcher, and opens all launchers that are used. In the returned configuration the names
// of launchers replace auto. They hold for the life of the host.
func (o *opener) decide(ctx context.Context, c configs.Config) (configs.Config, error) {
	c.Profiles = append([]compile.Profile(nil), c.Profiles...)
	for i := range c.Profiles {
		p := &c.Profiles[i]
		var err error
		if p.Sandbox == configs.SandboxAuto {
			err = o.choose(ctx, p)
		} else {
			_, err = o.open(ctx, p.Sandbox)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// choose takes the first launcher without an obstacle, or else the launcher with the least obstacle. at_least holds
// whichever launcher it takes, and the refusals tell which guarantees each of them lacks.
func (o *opener) choose(ctx context.Context, p *compile.Profile) error {
	taken, least := "", without
	var said []string
	var errs []error
	for _, name := range o.kinds.Names() {
		against := o.against(ctx, name, *p)
		if ctx.Err() != nil {
			return against.err
		}
		if against.weight < least {
			taken, least = name, against.weight
		}
		if against.weight == none {
			break
		}
		said, errs = append(said, against.says), append(errs, against.err)
	}
	if taken == "" {
		return lone(o.kinds, errs)
	}
	p.Sandbox, p.Chosen = taken, strings.Join(said, "; ")
	if len(said) == 0 {
		p.Chosen = taken + " can be used and is the first choice"
	}
	o.tell(*p, errs)
	return nil
}

// tell tells the operator which launcher was chosen and why, with details that parents may not know.
func (o *opener) tell(p compile.Profile, errs []error) {
	about := []any{"profile", p.Name, "launcher", p.Sandbox, "because", p.Chosen}
	if len(errs) > 0 {
		about = append(about, "errors", errors.Join(errs...))
	}
	o.setting.log.Info("chose a launcher", about...)
}

// lone returns a single error unchanged, and several as a NoLauncherError.
func lone(l launcher.List, errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return &NoLauncherError{errs, l.Remedies()}
}

// against returns the obstacle that speaks against a launcher for a profile.
func (o *opener) against(ctx context.Context, name string, p compile.Profile) obstacle {
	if why := o.setting.config.Unsuited(name, p.RootFS); why != "" {
		return obstacle{without, name + " cannot use this root file system", fmt.Errorf("profile %s with %s: %s", p.Name, name, why)}
	}
	g, err := o.enforced(ctx, name)
	if err != nil {
		return obstacle{without, absence(name, err), err}
	}
	if err := doctor.Start(doctor.System{Guarantees: map[string]sandbox.Guarantees{name: g}, Accept: o.setting.config.Accept}); err != nil {
		return obstacle{unfit, name + " lacks a guarantee that every sandbox needs", err}
	}
	missing := g.Missing(p.AtLeast)
	if len(missing) == 0 {
		return obstacle{}
	}
	words, reasons := make([]string, len(missing)), make([]string, len(missing))
	for i, key := range missing {
		words[i], reasons[i] = string(key), fmt.Sprintf("%s: %s", key, g[key].By)
	}
	return obstacle{
		lesser, name + " does not enforce " + strings.Join(words, ", "),
		fmt.Errorf("%s does not enforce the guarantees that profile %s demands: %s", name, p.Name, strings.Join(reasons, "; ")),
	}
}

// absence says why a launcher cannot be used, without anything that parents may not know.
func absence(name string, err error) string {
	if e, ok := errors.AsType[*launcher.UnusableError](err); ok && e.Said != "" {
		return e.Said
	}
	return name + " cannot be used on this machine"
}
