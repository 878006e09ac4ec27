package house

import (
	"os"

	"torno/delegation"
)

// Told are the events that the outbox has of a request, as far as nothing is missing between its segments.
func (h *House) Told(a Ask) (all []delegation.Event) {
	h.Helper()
	request, err := delegation.ParseRequestID(a.Request)
	h.Must(err)
	id, err := delegation.ParseSubagentID(a.ID)
	h.Must(err)
	for n := 1; ; n++ {
		data, err := os.ReadFile(h.Path(delegation.EventsName(id, request, n)))
		if os.IsNotExist(err) {
			return all
		}
		h.Must(err)
		events, err := delegation.DecodeEvents(data)
		h.Must(err)
		all = append(all, events...)
	}
}
