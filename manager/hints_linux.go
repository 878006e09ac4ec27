package manager

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// notify calls tell with the names of files that change in a directory, until stop.
func notify(dir string, tell func(name string)) (stop func() error, err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := w.Add(dir); err != nil {
		w.Close()
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	var reader sync.WaitGroup
	reader.Go(func() { forward(w, tell) })
	return func() error {
		defer reader.Wait()
		return w.Close()
	}, nil
}

// forward passes on events until the watcher is closed. An error, such as an overflow, needs no action: the poll looks
// at everything that was missed.
func forward(w *fsnotify.Watcher, tell func(name string)) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				tell(filepath.Base(e.Name))
			}
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
		}
	}
}
