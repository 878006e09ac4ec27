package patch

import (
	"fmt"
	"os"
	"path/filepath"
)

// lookAround looks at the target directory: whether it has a repository, and where the hooks lie.
func (g *getting) lookAround() error {
	dir, err := filepath.Abs(g.to.root.Name())
	if err != nil {
		return err
	}
	g.hooks = searchHooks(g.ctx, dir, gitPatience)
	g.plan = Plan{to: g.to, repos: repositoriesOf(g.to)}
	return nil
}

// judge finds out what forbids writing a path, and what would run it.
func (g *getting) judge(f found, got *Got) error {
	if got.LeftOut != "" {
		return nil
	}
	fault, err := g.plan.repos.fault(f.path)
	if fault != "" || err != nil {
		got.LeftOut = fault
		return err
	}
	if makes, err := g.plan.repos.wouldMake(f.path); makes || err != nil { // Get has perhaps written the rest just now
		got.LeftOut = repositoryFault
		return err
	}
	if f.info.IsDir() {
		g.hooks.look(g.ctx, filepath.Join(g.hooks.roots[0], f.path))
		return nil
	}
	after := &Entry{Kind: File, Exec: f.info.Mode()&0o111 != 0}
	if f.info.Mode()&os.ModeSymlink != 0 {
		after.Kind = Link
	}
	today, _ := g.to.glance(f.path) // if this look fails, writing will fail too
	got.RunsByItself = g.hooks.asked().why(f.path, today, after)
	if got.RunsByItself != "" && !g.may.Autorun && (g.may.Home || g.hooks.repository) {
		got.LeftOut = fmt.Sprintf("it runs by itself here: %s", got.RunsByItself)
	}
	return nil
}
