package patch

import (
	"fmt"
	"path/filepath"
	"strings"
)

// lookAround looks at the directory that is written to: whether a repository is there, and what runs as its hooks.
func (g *getting) lookAround() error {
	dir, err := filepath.Abs(g.to.root.Name())
	if err != nil {
		return err
	}
	g.hooks = searchHooks(dir)
	g.plan = Plan{to: g.to, repos: repositoriesOf(g.to)}
	return nil
}

// judge says what keeps a path from being written, and what would run it.
func (g *getting) judge(f found, got *Got) error {
	if got.LeftOut != "" {
		return nil
	}
	fault, err := g.plan.repos.fault(f.path)
	if fault != "" || err != nil {
		got.LeftOut = fault
		return err
	}
	if f.info.IsDir() {
		g.hooks.tree(filepath.Join(g.hooks.roots[0], f.path))
		return nil
	}
	c := &Change{Path: f.path, After: &Entry{Kind: File, Exec: f.info.Mode()&0o111 != 0}}
	if got.RunsByItself = whatRuns(f.path); got.RunsByItself == "" {
		got.RunsByItself = g.hooks.of(&Work{}, c)
	}
	if got.RunsByItself != "" && !g.may.Autorun && (g.may.Home || g.hooks.found) {
		got.LeftOut = fmt.Sprintf("it runs by itself here: %s", got.RunsByItself)
	}
	return nil
}

// linkThrough says why a link is not made whose way leads through one of the parent's that leads out, or "".
func (g *getting) linkThrough(p, target string) (string, error) {
	g.plan.Refused = nil
	err := g.plan.checkLink(&Step{Change: &Change{Path: p}, After: &Entry{Kind: Link, Target: target}}, neighbours{})
	var why []string
	for _, t := range g.plan.Refused {
		why = append(why, t.Why)
	}
	return strings.Join(why, "; "), err
}
