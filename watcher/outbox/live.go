package outbox

import (
	"torno/delegation"
	"torno/internal/crash"
	"torno/sandbox"
	"torno/watcher/output"
)

// NewLive is the live output of a run.
func (o *Outbox) NewLive(key sandbox.RunKey) *output.Live {
	name := func(seq int) string { return delegation.EventsName(key.Subagent, key.Request, seq) }
	return &output.Live{
		Publish: func(seq int, events []delegation.Event) error {
			data, err := delegation.EncodeEvents(events)
			if err != nil {
				return err
			}
			crash.At("outbox.segment")
			if err := o.publish(name(seq), data); err != nil && !o.expendable(err) {
				return err
			}
			return nil
		},
		Remove: func(seq int) { o.discard(name(seq)) },
		Report: func(err error) { o.log.Warn("live output cannot be written", "run", key, "error", err) },
	}
}
