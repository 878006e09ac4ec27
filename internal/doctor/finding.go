package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is what to think of a finding.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn"    // it works, and could be better
	Bad     Verdict = "bad"     // a wall or a limit is not there, or nothing can run
	Unknown Verdict = "unknown" // it could not be seen from here
)

// Group is what a finding is about.
type Group string

// The groups, in the order in which they are shown.
const (
	Configuration Group = "configuration"
	Machine       Group = "machine"
	// LauncherGroup has the name that programs know from earlier versions.
	LauncherGroup Group = "engine"
	Sandboxes     Group = "sandboxes"
	Roots         Group = "roots"
	LeftBehind    Group = "left behind"
)

// Finding is one thing that was looked at.
type Finding struct {
	Group   Group   `json:"group"`
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Seen    string  `json:"seen"`
	Means   string  `json:"means"`
	Do      string  `json:"do,omitempty"` // what to do about it; "" where there is nothing to be done
	// Refuses says that no watcher starts here because of it.
	Refuses bool `json:"refuses,omitempty"`
	// Accept is the switch with which a watcher starts all the same.
	Accept string `json:"accept,omitempty"`
	// Limit is what that switch accepts to be without.
	Limit string `json:"-"`
}

// RefusedError says why no sandbox can be had here, or none that is safe.
type RefusedError struct{ Findings []Finding }

func (e *RefusedError) Error() string {
	var sentences []string
	for i := 0; i < len(e.Findings); {
		first, seen := e.Findings[i], []string(nil)
		for ; i < len(e.Findings) && e.Findings[i].Name == first.Name && e.Findings[i].Means == first.Means; i++ {
			seen = append(seen, e.Findings[i].Seen)
		}
		sentences = append(sentences, fmt.Sprintf("%s (%s: %s)", first.Means, first.Name, strings.Join(seen, "; ")))
	}
	return strings.Join(sentences, "; ")
}

// Accepting are the limits that a start with --accept has to name, nil where something else refuses it too.
func (e *RefusedError) Accepting() (limits []string) {
	for _, f := range e.Findings {
		if f.Limit == "" {
			return nil
		}
		limits = append(limits, f.Limit)
	}
	return limits
}

// OfMachine says whether the machine is the reason, and not only what the configuration wants of it.
func (e *RefusedError) OfMachine() bool {
	return slices.ContainsFunc(e.Findings, func(f Finding) bool {
		return f.Group == LauncherGroup || f.Name == "walls" || f.Name == "bounds"
	})
}

// Next says what to do about it, each thing once, and how to start without the limits that a start can do without.
func (e *RefusedError) Next() string {
	var steps []string
	limits := map[string][]string{} // that a start can do without, by the step that would have them enforced
	for _, f := range e.Findings {
		if !slices.Contains(steps, f.Do) {
			steps = append(steps, f.Do)
		}
		if f.Limit != "" && !slices.Contains(limits[f.Do], f.Limit) {
			limits[f.Do] = append(limits[f.Do], f.Limit)
		}
	}
	for i, step := range steps {
		if without := limits[step]; without != nil {
			steps[i] += fmt.Sprintf(", or do without: accept: [%s] in the configuration, and with --dir --accept %s",
				strings.Join(without, ", "), strings.Join(without, " --accept "))
		}
	}
	return strings.Join(steps, "; ")
}

// refusal is an error of the findings that refuse, or nil.
func refusal(findings []Finding) error {
	refusing := slices.DeleteFunc(findings, func(f Finding) bool { return !f.Refuses })
	if len(refusing) == 0 {
		return nil
	}
	return &RefusedError{refusing}
}

// IsBad says whether any finding is.
func IsBad(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Bad })
}
