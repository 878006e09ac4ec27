package watcher

import "time"

// quietAfter is how long a stream must be silent until a reader who does not follow has seen what there was.
const quietAfter = 300 * time.Millisecond

// quiet tells when a stream has been silent for a while; following, it never does.
type quiet struct{ timer *time.Timer }

func newQuiet(follow bool) quiet {
	if follow {
		return quiet{}
	}
	return quiet{time.NewTimer(quietAfter)}
}

func (q quiet) over() <-chan time.Time {
	if q.timer == nil {
		return nil
	}
	return q.timer.C
}

func (q quiet) reset() {
	if q.timer != nil {
		q.timer.Reset(quietAfter)
	}
}

func (q quiet) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}
