package docker

import (
	"context"

	"torno/sandbox/local/hostroot"
)

// restore brings back the parts that all sandboxes share. While there is no sandbox, an operator who wants to free
// space may have removed them. It reports whether init was missing.
func (l *Launcher) restore(ctx context.Context) (missing bool, err error) {
	l.restoring.Lock()
	defer l.restoring.Unlock()
	if err := l.identity.Prove(ctx); err != nil {
		return false, err
	}
	image, err := l.stock().EmptyImage(ctx, hostroot.Read("/"))
	if err != nil {
		return false, err
	}
	init, err := l.stock().StoreInit(ctx, image, l.options.InitPath)
	if err == nil && init.WasMissing {
		l.options.Log.Warn("the volume with sandbox-init was gone from the engine; the watcher has made it again")
	}
	return init.WasMissing, err
}
