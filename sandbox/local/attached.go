package local

import (
	"maps"
	"slices"
	"sync"

	"torno/sandbox"
)

// Attached holds the open attachments of a launcher. The zero value has none. It is safe for concurrent use.
type Attached struct {
	mu   sync.Mutex
	open map[sandbox.Attachment]bool
}

// Add remembers an attachment that Close must end.
func (a *Attached) Add(one sandbox.Attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[sandbox.Attachment]bool{}
	}
	a.open[one] = true
}

// Drop forgets an attachment that has ended.
func (a *Attached) Drop(one sandbox.Attachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, one)
}

// Close closes all of them. Each attachment then calls Drop itself.
func (a *Attached) Close() {
	a.mu.Lock()
	open := slices.Collect(maps.Keys(a.open))
	a.mu.Unlock()
	for _, one := range open {
		one.Close()
	}
}
