// Package events keeps the watcher's own log of what happened in runs: the events that parents find in their outboxes, in the state
// directory, where no parent can alter them. Operators read them from here.
//
//	store, err := events.Open(state, events.Usual, now, log)
//	store.Append(key, segment)                  // by the run's live output, before the outbox gets the same segment
//	reader, err := store.Read(key, 57)          // what comes after event 57
//	reader.Each(ctx, show)                      // all that is there; again whenever reader.Wake() says so
//
// # What is promised
//
// The log of a run has the events of all its attempts, in order and by their numbers, and a next watcher goes on with the next number. A
// reader is never passed over an event in silence: what is gone by its bound, or was never written because a disk was full, is one
// event of type gap with the first and the last number that is missing. The same holds for a reader that names a number that the log has
// not reached.
//
// A reader reads files, at its own pace, and no queue stands between it and the run: the run waits for no reader. A reader that is slower
// than the bound is told the gap.
//
// # What is kept, and where
//
//	events/<outbox>-<run>.jsonl       the newest events, one a line
//	events/<outbox>-<run>.old.jsonl   the ones before, when the first file has had half of what a run may keep
//
// Nothing is flushed: a log is to outlive its watcher, and not a power cut. A line that was torn by one is passed over.
//
// All logs together are bounded by number and bytes; an outbox pushes out its own oldest logs before those of others. What is older than
// the records of runs goes too.
package events
