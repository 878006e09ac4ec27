package units

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// TestRegistriesNeedTheDropIn: with gVisor it is the watcher that fetches images. As it is installed the service reaches no
// registry, and says why; with the drop-in it does. That there is no such image is all that this one has to say.
func TestRegistriesNeedTheDropIn(t *testing.T) {
	need(t, house.GVisor)
	var asked atomic.Int64
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.NotFound(w, nil)
	}))
	t.Cleanup(registry.Close)
	p := plan(house.GVisor)
	p.Offers = ", fetched"
	p.Profiles = fmt.Sprintf("  fetched:\n    image: %q\n    pull: true\n", strings.TrimPrefix(registry.URL, "http://")+"/some/image@sha256:"+strings.Repeat("0", 64))
	for _, c := range []struct {
		unit  Unit
		asked bool
		says  string
	}{
		{service(t), false, "address family not supported"},
		{service(t, "registries.conf"), true, "does not have it"},
	} {
		asked.Store(0)
		h := open(t, c.unit, p)
		h.Start()
		resp := h.Run(house.Ask{ID: "s1", UID: parent, Profile: "fetched", Task: "true"})
		if resp.Status != delegation.StatusError || (asked.Load() > 0) != c.asked || !strings.Contains(resp.StderrTail, c.says) {
			t.Errorf("the registry was asked %d times: %s %s, %q", asked.Load(), resp.Status, resp.Reason, resp.StderrTail)
		}
	}
}
