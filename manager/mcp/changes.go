package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"torno/manager/patch"
)

// changes counts the changes that a child has made. It names the files that apply would refuse, and the files that run
// by themselves. The names are the child's.
type changes struct {
	Added   int      `json:"added"`
	Changed int      `json:"changed"`
	Deleted int      `json:"deleted"`
	Refused pathList `json:"refused,omitzero"`
	Runs    pathList `json:"run_by_themselves,omitzero"`
	Ignored pathList `json:"passed_by,omitzero"` // skipped, because git ignores it
	Answers pathList `json:"answers,omitzero"`   // skipped, because they lie where its answers do
	Git     int64    `json:"git_directories_passed_by,omitempty"`
}

// path is a path of a child's, and its problem. The problem is in our own words, or quoted separately if it contains a
// path.
type path struct {
	Path    foreign `json:"untrusted_path,omitzero"`
	Does    string  `json:"action,omitempty"`
	Why     string  `json:"why,omitempty"`
	Strange foreign `json:"untrusted_why,omitzero"`
}

// Bounds in bytes of JSON: a path that may be cut gets maxPathRoom, a path that must be whole gets maxWholeRoom, and a
// list gets maxPathsRoom. A child cannot hide a path that runs by itself behind many others, because apply does not write
// such a path unless allow names it.
const (
	maxPathRoom  = 1000
	maxWholeRoom = 5000
	maxPathsRoom = 8000
)

// pathList is a bounded list of paths.
type pathList struct {
	Paths []path
	More  int // how many are not named
	room  int
}

func (l *pathList) add(name, does, why string) { l.addShown(quoteAll(name, maxPathRoom), does, why) }

// addWhole adds a path that runs by itself. allow takes only whole paths, so a path that must be cut gets a hint.
func (l *pathList) addWhole(name, why string) {
	shown, used := quote([]byte(name), maxWholeRoom)
	if used < len(name) {
		shown = quoteAll(name, maxPathRoom)
		why = "the path is too long to be shown (leave out its directory with without, or use the command subagent apply): " + why
	}
	l.addShown(shown, "", why)
}

func (l *pathList) addShown(name foreign, does, why string) {
	p := path{Path: name, Does: does}
	if strings.Contains(why, `"`) { // package patch quotes each path in a reason, and the child may have chosen it
		p.Strange = quoteAll(why, maxWords)
	} else {
		p.Why = words(why)
	}
	l.room += sizeInJSON(p.Path.text) + sizeInJSON(p.Why) + sizeInJSON(p.Strange.text) + 60
	if l.room > maxPathsRoom {
		l.More++
		return
	}
	l.Paths = append(l.Paths, p)
}

// MarshalJSON writes the paths. The last entry says how many more there are.
func (l pathList) MarshalJSON() ([]byte, error) {
	if l.More == 0 {
		return json.Marshal(l.Paths)
	}
	return json.Marshal(append(slices.Clone(l.Paths), path{Why: fmt.Sprintf("and %d more, which are not named here", l.More)}))
}

// IsZero makes the encoder leave out an empty list.
func (l pathList) IsZero() bool { return len(l.Paths) == 0 && l.More == 0 }

// say names the paths behind bars, like other text of the child.
func (l pathList) say(b *strings.Builder, label string) {
	for _, p := range l.Paths {
		fmt.Fprintf(b, "%s:", label)
		for _, said := range []string{p.Does, p.Why} {
			if said != "" {
				b.WriteString(" " + said)
			}
		}
		b.WriteString("\n" + p.Path.lines() + p.Strange.lines())
	}
	if l.More > 0 {
		fmt.Fprintf(b, "%s: and %d more, which are not named here\n", label, l.More)
	}
}

// namesOnly lists paths without more words.
func namesOnly(paths []string) (l pathList) {
	for _, p := range paths {
		l.add(p, "", "")
	}
	return l
}

func changesOf(work *patch.Work) changes {
	c := changes{Git: work.Git, Ignored: namesOnly(work.Ignored), Answers: namesOnly(work.Answers)}
	for i := range work.Changes {
		change := &work.Changes[i]
		switch change.What() {
		case "added":
			c.Added++
		case "deleted":
			c.Deleted++
		default:
			c.Changed++
		}
		switch {
		case change.Refused != "":
			c.Refused.add(change.Path, "", change.Refused)
		case change.RunsByItself != "":
			c.Runs.addWhole(change.Path, change.RunsByItself)
		}
	}
	return c
}

func (c changes) say() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d changed, %d added, %d deleted\n", c.Changed, c.Added, c.Deleted)
	c.Refused.say(&b, "refused")
	c.Runs.say(&b, "runs by itself")
	c.Ignored.say(&b, "skipped, because git ignores it")
	c.Answers.say(&b, "skipped, because it is the answer")
	return b.String()
}
