// Package metrics shows a watcher as numbers, in the form that Prometheus collects, and says whether it is healthy.
//
//	m := metrics.New(metrics.Source{Journal: j, Status: operator.Status, Profiles: names, Outboxes: names, Ready: w.Ready(), Log: log})
//	go m.Loop(ctx)
//	mux.Handle("/", m.Handler())
//
// Nothing is measured here: every number is a view of what others hold. What runs, waits and is held up is the watcher's status at the
// moment of the question. What has ended is counted from the journal's own ends, each once, in the order in which they are told.
//
// What it promises:
//   - No label is of a request's choice. Labels are names of the configuration and words of ours; whatever else stands in a record is
//     "other". The number of series is bounded by the configuration, however many requests there are and whatever they say.
//   - It holds up no run. An end is noted in memory, and its record is read behind it.
//   - It changes nothing: there is nothing but GET.
package metrics
