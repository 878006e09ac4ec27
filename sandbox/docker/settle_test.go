package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"torno/internal/seccomp"
	"torno/internal/stage"
	"torno/sandbox"
)

// TestTheWeakerFilterNeedsProof goes through what an engine may say to the trials, one after another.
func TestTheWeakerFilterNeedsProof(t *testing.T) {
	refusal := errors.New("OCI runtime create failed: openat2: function not implemented")
	other := errors.New("OCI runtime create failed: no space left on device")
	start := func(err error) error { return &stage.StartError{Err: fmt.Errorf("start container: %w", err)} }
	for name, test := range map[string]struct {
		strict, weaker []error // what a trial under each says, in turn
		openat2        bool
		err            error
	}{
		"it starts":                            {strict: []error{nil}},
		"it needs openat2":                     {strict: []error{start(refusal), start(refusal)}, weaker: []error{nil}, openat2: true},
		"it starts under neither":              {strict: []error{start(other)}, weaker: []error{start(refusal)}, err: other},
		"it started late":                      {strict: []error{start(other), nil}, weaker: []error{nil}},
		"it fails in another way later":        {strict: []error{start(refusal), other}, weaker: []error{nil}, err: other},
		"init refuses":                         {strict: []error{other}, err: other},
		"the engine is away":                   {strict: []error{start(sandbox.ErrUnavailable)}, err: sandbox.ErrUnavailable},
		"the engine goes away":                 {strict: []error{start(refusal), start(sandbox.ErrUnavailable)}, weaker: []error{nil}, err: sandbox.ErrUnavailable},
		"the container is gone":                {strict: []error{start(sandbox.ErrNotFound)}, err: sandbox.ErrNotFound},
		"nobody waits any more":                {strict: []error{start(context.Canceled)}, err: context.Canceled},
		"the engine takes too long":            {strict: []error{start(context.DeadlineExceeded)}, err: context.DeadlineExceeded},
		"the weaker trial starts and is stuck": {strict: []error{start(refusal)}, weaker: []error{other}, err: refusal},
	} {
		chosen, err := chooseFilter(seccomp.Filter{}, seccomp.Filter{Openat2: true}, func(f seccomp.Filter) error {
			left := &test.strict
			if f.Openat2 {
				left = &test.weaker
			}
			if len(*left) == 0 {
				t.Fatalf("%s: a trial too many", name)
			}
			said := (*left)[0]
			*left = slices.Delete(*left, 0, 1)
			return said
		})
		if !errors.Is(err, test.err) || chosen.Openat2 != test.openat2 || len(test.strict)+len(test.weaker) > 0 {
			t.Errorf("%s: openat2 %v, %v", name, chosen.Openat2, err)
		}
	}
}
