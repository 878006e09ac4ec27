// Package events keeps the watcher's own log of the events of runs. Parents find the same events in their outboxes;
// this log lies in the state directory, where no parent can alter it. Operators read it from here.
//
//	store, err := events.Open(state, events.Usual, now, log)
//	store.Append(key, segment)                  // by the run's live output, before the outbox gets the same segment
//	reader, err := store.Read(key, 57)          // the events after event 57
//	reader.Each(ctx, show)                      // all events so far; again whenever reader.Wake() fires
//
// # What is promised
//
// The log of a run has the events of all its attempts, in order and by their numbers; the next watcher continues with
// the next number. A reader never misses an event in silence. If events were dropped because of a bound, or never
// written because a disk was full, the reader gets one event of type gap with the first and the last missing number.
// The same holds for a reader that names a number that the log has not reached.
//
// A reader reads files, at its own pace. No queue stands between it and the run, so the run waits for no reader. A
// reader that is too slow for the bound gets a gap.
//
// # What is kept, and where
//
//	events/<outbox>-<run>.jsonl       the newest events, one a line
//	events/<outbox>-<run>.old.jsonl   the earlier events: the first file gets this name when it holds half of a
//	                                  run's bound
//
// Nothing is flushed: a log should survive its watcher, but need not survive a power cut. A line that a power cut has
// torn is skipped.
//
// All logs together are bounded by number and bytes; an outbox pushes out its own oldest logs before those of others.
// Logs that are older than the records of runs go too.
package events
