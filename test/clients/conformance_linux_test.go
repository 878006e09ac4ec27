package clients

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/test/agents"
	"torno/test/house"
)

// TestConformance has the protocol's own suite ask our server, as it is shipped. What it wants and we have not is listed in
// testdata/conformance/expected.yaml with the reason, and the suite fails on one that is listed and succeeds.
func TestConformance(t *testing.T) {
	for _, tools := range []string{"torno", "stakpak", "massgen", "jarvis"} {
		t.Run(tools, func(t *testing.T) { conformance(t, tools) })
	}
}

func conformance(t *testing.T, tools string) {
	t.Helper()
	dir := need(t, fetchedConformance)
	baseline, err := filepath.Abs("testdata/conformance/expected.yaml")
	if err != nil {
		t.Fatal(err)
	}
	address, token := servedPort(t, "--tools", tools)
	proxy := httptest.NewServer(knocking(address, token))
	t.Cleanup(proxy.Close)
	node := filepath.Join(dir, "node_modules", "node-linux-"+agents.Arch, "bin", "node")
	suite := exec.CommandContext(t.Context(), node, filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js"),
		"server", "--url", proxy.URL+"/mcp", "--suite", "active", "--expected-failures", baseline, "--output-dir", t.TempDir())
	out, err := suite.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "server-initialize") {
		t.Errorf("the suite has asked nothing:\n%s", out)
	}
}

// servedPort starts the server on a port, and returns what it prints.
func servedPort(t *testing.T, options ...string) (address, token string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, house.Program("subagent"), append([]string{"mcp", "--outbox", t.TempDir(), "--http", "127.0.0.1:0"}, options...)...)
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	server.Stderr = os.Stderr
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(said)
	for _, to := range []*string{&address, &token} {
		if !lines.Scan() {
			t.Fatal("the server has not said where it is:", lines.Err())
		}
		*to = lines.Text()
	}
	return address, token
}

// knocking passes requests on with the token, which the suite cannot send. What it says of its host and origin stays as it is, but
// for the port of the proxy itself.
func knocking(address, token string) http.Handler {
	server, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: server.Scheme, Host: server.Host})
			itself, _ := r.In.Context().Value(http.LocalAddrContextKey).(net.Addr)
			_, port, _ := net.SplitHostPort(itself.String())
			r.Out.Host = strings.Replace(r.In.Host, ":"+port, ":"+server.Port(), 1)
			if origin := r.In.Header.Get("Origin"); origin != "" {
				r.Out.Header.Set("Origin", strings.Replace(origin, ":"+port, ":"+server.Port(), 1))
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
	}
}
