package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torno/sandbox/compile"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of the host") // I7: nothing of this process may show
	t.Setenv("LANG", "tlh")
	policy := bounded("run")
	policy.Profiles[0].Env = map[string]string{"TZ": "Asia/Tokyo", "AAA": "1=2"}
	spec, _, err := compile.Compile(request(t, "x"), policy)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`
		AAA=1=2
		FASTMCP_SHOW_CLI_BANNER=false
		GIT_CONFIG_SYSTEM=/run/torno/run/gitconfig
		HOME=/home/agent
		LANG=C.UTF-8
		LOGNAME=agent
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		PIP_CACHE_DIR=/home/agent/.cache/pip
		PIP_DISABLE_PIP_VERSION_CHECK=1
		SHELL=/bin/sh
		TMPDIR=/tmp
		TORNO_ANSWER_FILE=/w/s1/answer.txt
		TORNO_SUBAGENT_ID=s1
		TORNO_WORKSPACE=/w/s1
		TZ=Asia/Tokyo
		USER=agent
		UV_CACHE_DIR=/home/agent/.cache/uv
		UV_LINK_MODE=copy
		XDG_CACHE_HOME=/home/agent/.cache
		XDG_CONFIG_HOME=/home/agent/.config
		XDG_DATA_HOME=/home/agent/.local/share
		XDG_STATE_HOME=/home/agent/.local/state
		npm_config_cache=/home/agent/.cache/npm
		npm_config_update_notifier=false`)
	if !slices.Equal(spec.Process.Env, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(spec.Process.Env, "\n"), strings.Join(want, "\n"))
	}
}

// TestGitDefaults lets the real git read the file: it gives a commit its author, and the repository's own name wins.
func TestGitDefaults(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	spec, _, err := compile.Compile(request(t, "x"), bounded("run"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "gitconfig")
	if err := os.WriteFile(config, spec.Files[0].Content, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, []string{"GIT_CONFIG_SYSTEM=" + config, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q")
	run("commit", "-q", "--allow-empty", "-m", "first")
	run("config", "user.name", "Somebody")
	run("commit", "-q", "--allow-empty", "-m", "second")
	got := run("log", "--format=%an <%ae>")
	if want := "Somebody <agent@sandbox.invalid>\nagent <agent@sandbox.invalid>"; got != want {
		t.Errorf("authors are\n%s\nwant\n%s", got, want)
	}
	if got := run("config", "safe.directory"); got != "*" {
		t.Errorf("safe.directory is %q", got)
	}
}
