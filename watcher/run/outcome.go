package run

import (
	"torno/delegation"
	"torno/sandbox"
)

// outcome says why a run does not take its next step. A step that was taken returns nil.
type outcome struct {
	kind    outcomeKind
	verdict verdict // of a run that has ended
	why     error   // of a sandbox that broke in its hold
}

type outcomeKind int

const (
	hasEnded    outcomeKind = iota
	brokeInHold             // the sandbox ended before the release: another sandbox is made
	leftToNext              // the watcher stops working; the next watcher takes the run up
)

// verdict is how a run ended, before it is written down.
type verdict struct {
	reason  delegation.Reason
	exit    sandbox.Exit
	refusal *delegation.Refusal // for refused, launch_failed and lost
	final   bool                // the run is not attempted again
}

func ended(v verdict) *outcome { return &outcome{kind: hasEnded, verdict: v} }

// endedFor ends a run for a reason. Without one the watcher stops.
func endedFor(reason delegation.Reason) *outcome {
	if reason == "" {
		return left()
	}
	return ended(verdict{reason: reason})
}

func broke(why error) *outcome { return &outcome{kind: brokeInHold, why: why} }

func left() *outcome { return &outcome{kind: leftToNext} }

// Error lets an attendance return an outcome as its error.
func (o *outcome) Error() string {
	switch o.kind {
	case brokeInHold:
		return o.why.Error()
	case leftToNext:
		return "the run is left to the next watcher"
	}
	return "the run ends before its release: " + string(o.verdict.reason)
}

func (o *outcome) Unwrap() error { return o.why }
