package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func lookAtLeftovers(s System) (found []Finding) {
	alive := 0
	for _, l := range s.Left {
		if l.Fate == Alive {
			alive++
			continue
		}
		found = append(found, l.judge(s.daemon()))
	}
	switch {
	case len(found) > 0:
		return found
	case !slices.ContainsFunc(s.Launchers, Launcher.works) || s.LeftError != "":
		return []Finding{{Verdict: Unknown, Seen: or(s.LeftError, "no engine was asked"), Means: "it is not known what earlier installations left behind"}}
	}
	return []Finding{{Verdict: OK, Seen: fmt.Sprintf("%d installations have something on the engine", alive), Means: "each has its state directory"}}
}

// daemon returns the launcher whose daemon answers and takes commands, or an empty Launcher.
func (s System) daemon() (e Launcher) {
	for _, e := range s.Launchers {
		if e.works() && !e.Program {
			return e
		}
	}
	return e
}

func (l Leftover) judge(e Launcher) Finding {
	f := Finding{Verdict: Warn, Seen: fmt.Sprintf("installation %s has %s", l.Installation, l.has()), Do: l.removal(e)}
	switch l.Fate {
	case Gone:
		f.Means = fmt.Sprintf("its state directory %s is gone, so no watcher will ever remove it", l.State)
	case Replaced:
		f.Means = fmt.Sprintf("its state directory %s now belongs to another installation, so no watcher will ever remove it", l.State)
	default:
		f.Verdict = Unknown
		f.Means = "it cannot be seen from here whether its state directory still exists" + in(l.State)
		f.Do = "if you know its state directory: watcher purge --state DIR; if it is gone: " + f.Do
	}
	return f
}

func in(state string) string {
	if state == "" {
		return ""
	}
	return " (" + state + ")"
}

// has lists the things that an installation has left with a launcher.
func (l Leftover) has() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{l.Containers, "container"}, {l.Volumes, "volume"}, {l.Images, "image"}} {
		switch {
		case part.n == 1:
			parts = append(parts, "1 "+part.what)
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", part.n, part.what))
		}
	}
	if l.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d of them running", l.Running))
	}
	if len(l.Slots) > 0 {
		parts = append(parts, "in slots "+strings.Join(l.Slots, " "))
	}
	return strings.Join(parts, ", ")
}

// removal returns the command that removes the leftover: the launcher's own, or else commands of the engine.
func (l Leftover) removal(e Launcher) string {
	if l.Removal != "" {
		return l.Removal
	}
	docker := "docker"
	if e.Socket != "" {
		docker += " -H 'unix://" + strings.ReplaceAll(e.Socket, "'", `'\''`) + "'"
	}
	filter := "--filter label=torno.installation=" + l.Installation
	var commands []string
	if l.Containers > 0 {
		commands = append(commands, fmt.Sprintf("%s rm -fv $(%s ps -aq %s)", docker, docker, filter))
	}
	if l.Volumes > 0 {
		commands = append(commands, fmt.Sprintf("%s volume rm $(%s volume ls -q %s)", docker, docker, filter))
	}
	if l.Images > 0 {
		commands = append(commands, fmt.Sprintf("%s rmi $(%s images -q %s)", docker, docker, filter))
	}
	return strings.Join(commands, " && ")
}
