package serve

import (
	"context"
	"net"

	"torno/internal/metrics"
	"torno/watcher"
)

// makeMetrics has the numbers of this watcher counted from its first end on.
func (h *host) makeMetrics(context.Context) error {
	h.operator = &watcher.Operator{Journal: h.journal, Watcher: h.watcher}
	if h.Reload != nil {
		h.operator.Reloads = h.reloads
	}
	source := metrics.Source{Journal: h.journal, Status: h.operator.Status, Ready: h.watcher.Ready(), Log: h.Log}
	for _, p := range h.Config.Profiles {
		source.Profiles = append(source.Profiles, p.Name)
	}
	for _, o := range h.Config.Outboxes {
		source.Outboxes = append(source.Outboxes, o.Name)
	}
	h.metrics = metrics.New(source)
	return nil
}

// showMetrics serves the numbers at the address that the configuration names, until open is done. That it cannot is no reason to serve
// no requests.
func (h *host) showMetrics(open context.Context) {
	if h.Config.Metrics == "" {
		return
	}
	listener, err := (&net.ListenConfig{}).Listen(open, "tcp", h.Config.Metrics)
	if err != nil {
		h.Log.Error("metrics are not shown; the control socket has them", "address", h.Config.Metrics, "error", err)
		return
	}
	if err := h.metrics.Serve(open, listener); err != nil {
		h.Log.Error("metrics are not shown any more; the control socket has them", "address", h.Config.Metrics, "error", err)
	}
}
