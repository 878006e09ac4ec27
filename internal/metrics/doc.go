// Package metrics shows numbers about a watcher, in the form that Prometheus collects, and tells whether the watcher is
// healthy.
//
//	m := metrics.New(metrics.Source{Journal: j, Status: operator.Status, Profiles: names, Outboxes: names, Ready: w.Ready(), Log: log})
//	go m.Loop(ctx)
//	mux.Handle("/", m.Handler())
//
// The package measures nothing itself. Numbers about runs that go on, wait or are held up come from the watcher's
// status at the moment of the question. Runs that have ended are counted when the journal reports their end, each once,
// in the order of the reports.
//
// The package promises:
//   - No request can choose a label. A label is a name from the configuration or a word of Torno's own; any other text
//     in a record becomes "other". So the configuration bounds the number of series, however many requests there are and
//     whatever they say.
//   - It delays no run. It only notes an end in memory, and reads the record later.
//   - It changes nothing: it answers only GET.
package metrics
