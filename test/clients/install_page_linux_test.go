package clients

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/test/house"
	"torno/test/upstream/standin"
)

// TestAnAgentReadsTheInstalledPage (H24): what `subagent install` writes is what the real agent tells its model, for the user and for a project.
func TestAnAgentReadsTheInstalledPage(t *testing.T) {
	modules := needClients(t)
	for _, c := range []struct {
		client
		args []string
	}{
		{claude, []string{"-p", "hello"}},
		{codex, []string{"exec", "--skip-git-repo-check", "-c", "analytics.enabled=false", "--disable", "enable_request_compression", "hello"}},
	} {
		for _, scope := range []string{"user", "project"} {
			t.Run(c.Name+"/"+scope, func(t *testing.T) {
				up := standin.New(upstreamKey)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Upgrade") != "" { // as the gateway does, so that it asks again without
						w.WriteHeader(http.StatusUpgradeRequired)
						return
					}
					up.ServeHTTP(w, r)
				}))
				t.Cleanup(server.Close)
				home, project := t.TempDir(), t.TempDir()
				run := func(program string, args ...string) string {
					t.Helper()
					cmd := exec.CommandContext(t.Context(), program, args...)
					cmd.Dir = project
					cmd.Env = []string{
						"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + upstreamKey, "ANTHROPIC_BASE_URL=" + server.URL,
						"CODEX_API_KEY=" + upstreamKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
					}
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%s: %v\n%s", program, err, out)
					}
					return string(out)
				}
				if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700); err != nil {
					t.Fatal(err)
				}
				install := []string{"install", c.Name}
				if scope == "project" {
					install = append(install, "--project")
				}
				run(house.Program("subagent"), install...)
				args := slices.Clone(c.args)
				if c.Name == "codex" {
					args = slices.Insert(args, 1, "-c", `openai_base_url="`+server.URL+`/v1"`)
				}
				out := run(filepath.Join(modules, c.Program, c.Name), args...)
				told := slices.ContainsFunc(up.Seen(), func(seen standin.Seen) bool { return strings.Contains(string(seen.Body), "## Delegating to subagents") })
				if !told {
					t.Errorf("its model was not told of subagents; it said %q", out)
				}
			})
		}
	}
}
