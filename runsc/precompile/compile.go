package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gvisor.dev/gvisor/pkg/seccomp"
	"gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"
	"gvisor.dev/gvisor/pkg/sentry/platform"
	_ "gvisor.dev/gvisor/pkg/sentry/platform/systrap"
	"gvisor.dev/gvisor/runsc/boot/filter/config"
)

// compile compiles the programs, with this process's id in them.
func compile() ([]precompiledseccomp.Program, error) {
	systrap, err := platform.Lookup("systrap")
	if err != nil {
		return nil, err
	}
	var all []precompiledseccomp.Program
	for _, info := range systrap.PrecompiledSeccompInfo() {
		for _, directfs := range []bool{false, true} {
			program, err := compileFor(config.Options{Platform: info, HostFilesystem: directfs})
			if err != nil {
				return nil, err
			}
			all = append(all, program)
		}
	}
	return all, nil
}

// descriptor is gVisor's name for the descriptor on which its control server listens.
const descriptor = "controller_fd"

func compileFor(o config.Options) (precompiledseccomp.Program, error) {
	names := append(slices.Collect(maps.Keys(o.Platform.Variables())), descriptor)
	for name := range o.Vars() {
		if name != idLow && name != idHigh && !slices.Contains(names, name) {
			return precompiledseccomp.Program{}, fmt.Errorf("gVisor's filter depends on %s, too", name)
		}
	}
	return precompiledseccomp.Precompile(o.ConfigKey(), names, func(values precompiledseccomp.Values) *seccomp.Program {
		o := o
		o.ControllerFD, o.Platform = values[descriptor], given{o.Platform, values}
		allowed, denied := config.Rules(o)
		return &seccomp.Program{
			RuleSets: []seccomp.RuleSet{{Rules: denied.Copy()}, {Rules: allowed.Copy(), Action: seccomp.Allow}},
			Options:  config.SeccompOptions(o),
		}
	})
}

// given is a platform with these values for its variables.
type given struct {
	platform.SeccompInfo
	values precompiledseccomp.Values
}

// Variables implements platform.SeccompInfo.
func (g given) Variables() precompiledseccomp.Values {
	own := precompiledseccomp.Values{}
	for name := range g.SeccompInfo.Variables() {
		own[name] = g.values[name]
	}
	return own
}

// source is a file that declares programs.
func source(programs []precompiledseccomp.Program) string {
	var text strings.Builder
	text.WriteString(`package main

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

func compiledFilters() []precompiledseccomp.Program {
	return []precompiledseccomp.Program{
`)
	for _, p := range programs {
		fmt.Fprintf(&text, "\t\t%s,\n", p.Expr("\t\t", "precompiledseccomp"))
	}
	text.WriteString("\t}\n}\n")
	return text.String()
}
