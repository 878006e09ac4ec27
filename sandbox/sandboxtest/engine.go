package sandboxtest

import (
	"context"
	"fmt"
	"maps"

	"torno/sandbox"
)

// FirstEngine is the id of the engine that a World begins with.
const FirstEngine = "engine-1"

// Exchange puts another engine in the place of the one that answers. Every connection breaks. What the earlier engine has lives on
// with it, and is there again when that engine is put back. A fake stays with the engine that it was made on.
func (w *World) Exchange(engine string) {
	w.mu.Lock()
	w.engine = engine
	fakes := w.fakes
	w.mu.Unlock()
	for _, f := range fakes {
		f.hangUp()
	}
}

// hangUp ends the attachments of a fake.
func (f *Fake) hangUp() {
	f.mu.Lock()
	attached := maps.Clone(f.attached)
	f.mu.Unlock()
	for a := range attached {
		a.Close()
	}
}

// Engine is the engine that the fake was made on.
func (f *Fake) Engine(ctx context.Context) (id string, err error) {
	err = f.do(ctx, OpEngine, func() error { id = f.engine; return nil })
	return id, err
}

// ours says whether the fake's engine answers.
func (f *Fake) ours() error {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	if f.world.engine == f.engine {
		return nil
	}
	return fmt.Errorf("engine %s answers and %s does not: %w", f.world.engine, f.engine, sandbox.ErrOtherEngine)
}
