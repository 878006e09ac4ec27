package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
)

// Spec describes the door that a watcher orders for a run.
type Spec struct {
	ID     string         `json:"id"`
	Routes []Way          `json:"routes"`
	Claims []budget.Claim `json:"claims"` // the budgets that each exchange counts for
	Lasts  Duration       `json:"lasts"`  // time until the door closes by itself, even if its watcher is dead
	Peer   Peer           `json:"peer"`
	// Record means that the conversation is written to a file in the gateway's directory.
	Record bool `json:"record,omitempty"`
}

// Way is a route that a door offers.
type Way struct {
	Prefix string `json:"prefix,omitempty"` // the beginning of a path, such as "/npm"; "" takes all other paths
	Route  string `json:"route"`
}

// Peer says which processes a door serves. A door with neither field set serves none yet.
type Peer struct {
	Cgroup string `json:"cgroup,omitempty"` // processes in this control group, or below it
	Anyone bool   `json:"anyone,omitempty"` // every process that reaches the socket
}

// Duration is written in JSON in Go's form, "90s" or "2h".
type Duration time.Duration

// MarshalJSON writes that text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads that text.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return errors.New("a duration must be a text such as \"90s\"")
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Errors that callers tell apart.
var (
	ErrNoDoor   = errors.New("there is no such door")
	ErrOther    = errors.New("another door has this id")
	ErrInvalid  = errors.New("the door cannot be opened")
	ErrNoRoute  = errors.New("there is no such route")
	ErrDraining = errors.New("the gateway is ending")
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

const longest = 365 * 24 * time.Hour

func (s *Spec) check() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case !idForm.MatchString(s.ID):
		return invalid("its id must be letters, digits, dots, hyphens and underscores, at most 128")
	case len(s.Routes) == 0:
		return invalid("it leads to no route")
	case len(s.Claims) == 0:
		return invalid("it has no budget scope to count for")
	case s.Lasts <= 0 || time.Duration(s.Lasts) > longest:
		return invalid("it does not say how long it lasts")
	case s.Peer.Anyone && s.Peer.Cgroup != "":
		return invalid("it must be for a control group or for anyone, not for both")
	case s.Peer.Cgroup != "" && !isGroup(s.Peer.Cgroup):
		return invalid("its control group is not a path below the top")
	}
	seen := map[string]bool{}
	for _, w := range s.Routes {
		if w.Prefix != "" && !route.IsPrefix(w.Prefix) {
			return invalid("%q is not a prefix such as /npm", w.Prefix)
		}
		if seen[w.Prefix] {
			return invalid("two of its routes have the prefix %q", w.Prefix)
		}
		seen[w.Prefix] = true
	}
	return nil
}

// isGroup reports whether a text names a control group below the top. A process in a control group namespace sees
// groups outside its own as /../name.
func isGroup(group string) bool {
	for strings.HasPrefix(group, "/../") {
		group = group[len("/.."):]
	}
	return len(group) > 1 && group[0] == '/' && path.Clean(group) == group
}

// way finds the route of a path, and the rest of the path behind the prefix. The longest prefix that fits wins.
func (s *Spec) way(asked string) (found Way, rest string, ok bool) {
	for _, w := range s.Routes {
		behind, fits := strings.CutPrefix(asked, w.Prefix)
		if fits && strings.HasPrefix(behind, "/") && (!ok || len(w.Prefix) > len(found.Prefix)) {
			found, rest, ok = w, behind, true
		}
	}
	return found, rest, ok
}
