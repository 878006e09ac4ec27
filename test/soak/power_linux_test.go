package soak

import (
	"context"
	"testing"

	"torno/test/house"
)

// power is what makes the sandboxes of a scene.
type power interface {
	// plan is what is special about a house that stands on it.
	plan() house.Plan
	// strike does to it what fate has decided, and notes how long that was felt.
	strike(*fate, stroke)
	// listen notes what it does, until the context is done.
	listen(context.Context, *scene)
	// left is what there is of sandboxes.
	left(*scene) []string
	// putBack undoes what its strokes have left.
	putBack(*fate)
	// dirs are where it has its mounts.
	dirs(*scene) []string
}

// powers are those of the launchers, and what each of them needs of the machine.
var powers = map[string]struct {
	need  func(testing.TB)
	begin func(testing.TB) power
}{
	house.Docker: {house.NeedPrivate, newEngine},
	house.GVisor: {house.NeedGVisor, newKeepers},
}
