// Package outbox is a hostile parent at work. Its tests plant in a served outbox whatever a directory can hold and ask for
// whatever a request can say, all of it at once and beside an honest request, and look at what the watcher, as it is
// shipped and on a real engine, makes of it: the right refusal and not silence, no byte of the host's secret anywhere, the
// host's files as they were, and the honest request served in time.
//
// An attempt is one line of thought in a table (entries, texts, answers, time, paths): what is planted, what has to come of
// it, and a careless reader or writer that falls for the same thing, which is its oracle. What cannot be tried beside the
// rest, such as taking the outbox away, has a watcher and a test of its own.
package outbox
