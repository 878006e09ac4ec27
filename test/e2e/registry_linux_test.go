package e2e

import (
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/registry"
)

// TestPackagesReachAChild: the real npm, pip and go install a package each in a sandbox without a network, through doors to registries. The
// second child's files come from the host's disk, also when the gateway was killed in between.
func TestPackagesReachAChild(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		house.Need(t, sandbox)
		reg := registry.New()
		server, files := httptest.NewServer(reg), httptest.NewServer(reg)
		t.Cleanup(server.Close)
		t.Cleanup(files.Close)
		reg.Base, reg.Files = server.URL, files.URL
		h := house.New(t, house.Plan{
			Sandbox: sandbox, Offers: ", builds",
			Top: fmt.Sprintf(`gateway:
  routes:
    npm: {preset: npm, upstream: %[1]q, http_to: 127.0.0.1, private: true}
    pypi: {preset: pypi, upstream: %[1]q, http_to: 127.0.0.1, private: true, files: %[2]q}
    pypi-files: {preset: pypi-files, upstream: %[2]q, http_to: 127.0.0.1, private: true}
    go: {preset: goproxy, upstream: %[1]q, http_to: 127.0.0.1, private: true}`, server.URL, files.URL),
			Profiles: "  builds:\n    timeout: {default: 4m, min: 1s, max: 5m}\n    programs: [{host: " + goRoot(t) + ", as: /usr/local/go}]\n" +
				"    routes: [npm, {route: pypi, prefix: /pypi}, {route: pypi-files, prefix: /files}, {route: go, prefix: /go}]",
		})
		const task = `set -e
mkdir n p g
(cd n && npm install --no-audit --no-fund --no-update-notifier --loglevel=error torno-left && node -p 'require("torno-left")')
python3 -m pip install --quiet --no-cache-dir --disable-pip-version-check --target p torno-left && PYTHONPATH=p python3 -c 'import torno_left; print(torno_left.said)'
(cd g && export GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw && /usr/local/go/bin/go mod init m 2>/dev/null && /usr/local/go/bin/go get example.com/left@v1.0.0 2>/dev/null &&
  grep -h left "$(/usr/local/go/bin/go list -m -f '{{.Dir}}' example.com/left)/left.go")`
		installs := func(id string) {
			t.Helper()
			ask := h.Submit(house.Ask{ID: id, Profile: "builds", Task: task})
			h.Within(2*house.Patience, id+" is answered", func() bool { return h.Exists("response_" + id + ".json") }) // three package managers, one after the other
			resp := h.Response(ask)
			h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
			for _, want := range []string{"left of npm", "left of pypi", "left of go"} {
				if !strings.Contains(resp.StdoutTail, want) {
					t.Errorf("%s printed %q and %q, without %q", id, resp.StdoutTail, resp.StderrTail, want)
				}
			}
		}
		installs("first")
		killGateway(h)
		installs("second")
		for _, file := range []string{registry.NPMFile, registry.WheelFile, registry.ModuleZip} {
			if n := reg.Asked(file); n != 1 {
				t.Errorf("%s was fetched %d times", file, n)
			}
		}
	})
}

// goRoot is where this machine has Go.
func goRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
