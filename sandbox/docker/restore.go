package docker

import (
	"context"
	"errors"

	"torno/sandbox"
	"torno/sandbox/local/hostroot"
)

// lacksInit says whether a start may have failed because init was missing, which it is not any more.
func (l *Launcher) lacksInit(ctx context.Context, err error) bool {
	if err == nil || isGone(err) || errors.Is(err, sandbox.ErrNotFound) || errors.Is(away(err), sandbox.ErrUnavailable) {
		return false
	}
	missing, err := l.restore(ctx)
	return err == nil && missing
}

// restore brings back what all sandboxes share: while there is no sandbox, an operator who wants room may have removed it.
// It says whether init was missing.
func (l *Launcher) restore(ctx context.Context) (missing bool, err error) {
	l.restoring.Lock()
	defer l.restoring.Unlock()
	if err := l.prove(ctx); err != nil {
		return false, err
	}
	image, err := importEmptyImage(ctx, l.engine, l.names, hostroot.Read("/"))
	if err != nil {
		return false, err
	}
	_, _, missing, err = storeInit(ctx, l.engine, l.names, image, l.options.InitPath)
	if err == nil && missing {
		l.options.Log.Warn("the volume with sandbox-init was gone from the engine, and is there again")
	}
	return missing, err
}
