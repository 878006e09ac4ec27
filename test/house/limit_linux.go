package house

import "golang.org/x/sys/unix"

// Limit bounds how many files the watcher may have open, and returns what undoes it.
func (h *House) Limit(files uint64) (lift func()) {
	h.Helper()
	var before unix.Rlimit
	h.Must(unix.Prlimit(h.PID(), unix.RLIMIT_NOFILE, nil, &before))
	h.Must(unix.Prlimit(h.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: before.Max}, nil))
	return func() { h.Helper(); h.Must(unix.Prlimit(h.PID(), unix.RLIMIT_NOFILE, &before, nil)) }
}
