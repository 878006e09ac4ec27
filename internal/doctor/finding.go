package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict rates a finding.
type Verdict string

// The verdicts.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn"    // it works, and could be better
	Bad     Verdict = "bad"     // a wall or a limit is missing, or nothing can run
	Unknown Verdict = "unknown" // it could not be seen from here
)

// Group is the subject of a finding.
type Group string

// The groups, in their order on the screen.
const (
	Configuration Group = "configuration"
	Machine       Group = "machine"
	// LauncherGroup keeps the word of earlier versions, because programs know it.
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
	Do      string  `json:"do,omitempty"` // the step to take; "" if there is nothing to do
	// Refuses tells that no watcher starts here because of this finding.
	Refuses bool `json:"refuses,omitempty"`
	// Accept is the switch that lets a watcher start all the same.
	Accept string `json:"accept,omitempty"`
	// Limit is the limit that the operator does without by that switch.
	Limit string `json:"-"`
}

// RefusedError tells why this machine can give no sandbox, or no safe one.
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

// Accepting returns the limits that a start has to name with --accept. It returns nil if anything else refuses the
// start too, because --accept does not help then.
func (e *RefusedError) Accepting() (limits []string) {
	for _, f := range e.Findings {
		if f.Limit == "" {
			return nil
		}
		limits = append(limits, f.Limit)
	}
	return limits
}

// OfMachine reports whether the machine itself is a reason, and not only the demands of the configuration.
func (e *RefusedError) OfMachine() bool {
	return slices.ContainsFunc(e.Findings, func(f Finding) bool {
		return f.Group == LauncherGroup || f.Name == "walls" || f.Name == "bounds"
	})
}

// Next returns the steps to take, each once, and how to start without the limits that a start can do without.
func (e *RefusedError) Next() string {
	var steps []string
	limits := map[string][]string{} // limits that a start can do without, by the step that would get them enforced
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

// refusal returns an error with the findings that refuse a start, or nil if none does.
func refusal(findings []Finding) error {
	refusing := slices.DeleteFunc(findings, func(f Finding) bool { return !f.Refuses })
	if len(refusing) == 0 {
		return nil
	}
	return &RefusedError{refusing}
}

// IsBad reports whether any finding is bad.
func IsBad(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Bad })
}
