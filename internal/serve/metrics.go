package serve

import (
	"context"
	"net"

	"torno/internal/metrics"
	"torno/watcher"
)

// makeMetrics makes the metrics of this watcher early, so that they count from the first end of a run.
func (h *host) makeMetrics(context.Context) error {
	h.operator = &watcher.Operator{Journal: h.journal, Watcher: h.watcher, History: h.events}
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
	for _, r := range h.Config.Gateway.Routes() {
		source.RouteNames = append(source.RouteNames, r.Name)
	}
	if h.gateway != nil {
		source.Routes = h.routeTotals
	}
	h.metrics = metrics.New(source)
	return nil
}

// routeTotals asks the model gateway for the totals of its routes.
func (h *host) routeTotals(ctx context.Context) ([]metrics.Route, error) {
	totals, err := h.gateway.Totals(ctx)
	if err != nil {
		return nil, err
	}
	var all []metrics.Route
	for _, t := range totals {
		all = append(all, metrics.Route{
			Name: t.Route, Requests: t.Requests, Input: t.Cost.InputTokens, Output: t.Cost.OutputTokens,
			Money: t.Cost.Money.Units(), Refused: t.Codes,
		})
	}
	return all, nil
}

// showMetrics serves the numbers at the address that the configuration names, until open is done. If it cannot,
// requests are served all the same.
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
