package serve

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/test/upstream/standin"
)

const routeKey = "sk-stand-in-0123456789"

// reached has the configuration lead to a stand-in, with a key, and to a place where nothing is.
func (s *shop) reached(more string) *standin.Upstream {
	s.Helper()
	up := standin.New(routeKey)
	server, gone := httptest.NewServer(up), httptest.NewServer(nil)
	gone.Close()
	s.Cleanup(server.Close)
	key := filepath.Join(s.dir, "key")
	s.must(os.WriteFile(key, []byte(routeKey), 0o600))
	to := func(url string) string {
		return fmt.Sprintf("{preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}", url, key)
	}
	s.config = s.routed(fmt.Sprintf("{%sroutes: {model: %s, nowhere: %s}}", more, to(server.URL), to(gone.URL)))
	return up
}

// tries opens a trial, tries the routes, and closes it.
func (s *shop) tries() []RouteAttempt {
	s.Helper()
	trial, err := OpenTrial(s.Context(), s.config, s.launchers(), quiet)
	s.must(err)
	all := trial.TryRoutes(s.Context())
	s.must(trial.Close())
	return all
}

// wrongs are the kinds of what is wrong, by route.
func wrongs(all []RouteAttempt) (kinds []string) {
	for _, a := range all {
		kinds = append(kinds, a.Route+":"+a.Wrong)
	}
	return kinds
}

// TestRoutesAreTriedWithoutAWatcher: by a gateway of the trial's own, of which nothing is left.
func TestRoutesAreTriedWithoutAWatcher(t *testing.T) {
	s := withGateway(t, claude)
	up := s.reached("")
	s.makeOutbox()
	before := s.lookedAt()
	all := s.tries()
	if want := []string{"model:", "nowhere:upstream"}; !slices.Equal(wrongs(all), want) || !all[0].Works || all[1].Works {
		t.Errorf("tried: %+v", all)
	}
	if seen := up.Seen(); len(seen) != 1 || seen[0].Header.Get("X-Api-Key") != routeKey {
		t.Errorf("the upstream has seen %+v", seen)
	}
	up.Rotate("sk-another-0123456789")
	if all = s.tries(); all[0].Wrong != "credential" || strings.Contains(all[0].Text, routeKey) {
		t.Errorf("a key that does not count any more: %+v", all[0])
	}
	s.must(os.Remove(filepath.Join(s.dir, "key")))
	if all = s.tries(); all[0].Wrong != "credential" {
		t.Errorf("a key that is not there: %+v", all[0])
	}
	s.must(os.WriteFile(filepath.Join(s.dir, "key"), []byte(routeKey), 0o600))
	if after := s.lookedAt(); !slices.Equal(before, after) {
		t.Errorf("there was %v and is %v", before, after)
	}
}

// TestNoGatewayIsSaid, by each route.
func TestNoGatewayIsSaid(t *testing.T) {
	s := withGateway(t, claude)
	s.makeOutbox()
	s.must(os.WriteFile(filepath.Join(s.dir, "bin", "model-gateway"), []byte("#!/bin/sh\necho no such luck >&2\nexit 3\n"), 0o755))
	if all := s.tries(); all[0].Wrong != wrongGateway || !strings.Contains(all[0].Text, "no such luck") {
		t.Errorf("a program that ends at once: %+v", all)
	}
	s.must(os.Remove(filepath.Join(s.dir, "bin", "model-gateway")))
	if all := s.tries(); all[0].Wrong != wrongGateway || !strings.Contains(all[0].Text, "model-gateway") {
		t.Errorf("no program: %+v", all)
	}
	s.config = s.routed("{state: " + filepath.Join(s.dir, "theirs") + ", routes: {claude: {preset: anthropic}}}")
	if all := s.tries(); all[0].Wrong != wrongGateway || !strings.Contains(all[0].Text, "gateway.state") {
		t.Errorf("none of another: %+v", all)
	}
}

// TestTheGatewayThatServesTries: it has these routes. Where it has other ones, a watcher's own is left alone, and that of another says so.
func TestTheGatewayThatServesTries(t *testing.T) {
	s := withGateway(t, claude)
	up := s.reached("")
	ended := s.open()
	first := s.routes("model", "nowhere")
	s.must(os.Rename(filepath.Join(s.dir, "bin", "model-gateway"), filepath.Join(s.dir, "bin", "away")))
	if all := s.tries(); !all[0].Works {
		t.Errorf("by the gateway that serves: %+v", all)
	}
	s.must(os.Rename(filepath.Join(s.dir, "bin", "away"), filepath.Join(s.dir, "bin", "model-gateway")))
	serving := s.config
	s.config = s.routed("{routes: {other: {preset: anthropic, upstream: 'http://127.0.0.1:1', http_to: 127.0.0.1, private: true}}}")
	if all := s.tries(); !slices.Equal(wrongs(all), []string{"other:upstream"}) {
		t.Errorf("with other routes: %+v", all)
	}
	s.config = s.routed("{state: " + serving.GatewayState() + ", routes: {other: {preset: anthropic}}}")
	if all := s.tries(); !slices.Equal(wrongs(all), []string{"other:setup"}) || !strings.Contains(all[0].Text, "SIGHUP") {
		t.Errorf("another's with other routes: %+v", all)
	}
	s.config = serving
	if pid := s.routes("model", "nowhere"); pid != first || len(up.Seen()) == 0 {
		t.Errorf("process %d serves, and not %d", pid, first)
	}
	s.stop(ended)
}

// TestPurgeEndsTheGatewayOfAKilledTrial: it is in a session of its own, and outlives a trial that could not close.
func TestPurgeEndsTheGatewayOfAKilledTrial(t *testing.T) {
	s := withGateway(t, claude)
	s.stop(s.open()) // for the journal
	s.endGateway()
	trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
	s.must(err)
	client, _, end, err := trial.gateway(t.Context())
	s.must(err)
	status, err := client.Status(t.Context())
	s.must(err)
	i, err := LockInstallation(t.Context(), s.config.State, "the test")
	s.must(err)
	s.must(i.Purge(t.Context(), s.config, s.launchers(), quiet))
	s.must(i.Unlock())
	s.gone(status.Process)
	end()
	if err := syscall.Kill(status.Process, 0); err == nil {
		t.Error("it is there")
	}
	s.must(trial.opener.close())
	s.must(trial.bases.Close())
}
