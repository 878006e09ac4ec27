package patch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// running are the paths for which a plan asks.
func (s *scene) running() []string {
	s.Helper()
	var all []string
	for _, r := range s.plan().Running {
		all = append(all, r.Path)
	}
	slices.Sort(all)
	return all
}

func (s *scene) asksFor(want ...string) {
	s.Helper()
	slices.Sort(want)
	if got := s.running(); !slices.Equal(got, want) {
		s.Errorf("it asks for %q, want %q", got, want)
	}
}

// A file that runs by itself may be one that forbids something. To take it away needs a word as well.
func TestWhatRunsByItselfIsNotDeletedUnasked(t *testing.T) {
	forbidding := map[string]string{
		".claude/settings.json":      `{"permissions": {"deny": ["Read(.env)"]}}`,
		".npmrc":                     "ignore-scripts=true",
		".github/workflows/scan.yml": "x",
		"sub/.envrc":                 "x",
		"CLAUDE.md":                  "x",
		"package.json":               `{"scripts": {"preinstall": "check"}}`,
	}
	s := newScene(t, forbidding)
	write(t, s.ours("tools/pre-push"), "x")
	write(t, s.ours("other/package.json"), `{"name": "x"}`)
	write(t, s.ours(".git/config"), "[core]\n\thooksPath = tools\n")
	s.copyAgain()
	for path := range forbidding {
		s.must(os.Remove(s.child(path)))
	}
	s.must(os.RemoveAll(s.child(".github")))
	s.must(os.RemoveAll(s.child("tools")))
	s.must(os.RemoveAll(s.child("other")))
	write(t, s.child(".npmrc/x"), "a directory now")
	s.asksFor(append(slices.Collect(maps.Keys(forbidding)), "tools/pre-push")...)
}

// copyAgain copies once more, into an empty workspace.
func (s *scene) copyAgain() Report {
	s.Helper()
	s.must(os.RemoveAll(s.workspace))
	s.must(os.Mkdir(s.workspace, 0o755))
	return s.copy()
}

// A directory that becomes a link decides which files lie below it. It needs a word where one of those runs by itself: by the
// list, by a link, or as a hook of the parent's; and so does what it leads to, from then on.
func TestADirectoryExchangedForALink(t *testing.T) {
	files := map[string]string{
		"config/env": "x", "gradle/wrapper/gradle-wrapper.properties": "x", "scripts/pre-commit": "x", "tools/hooks/pre-push": "x", "plain/x": "x",
	}
	s := newScene(t, files)
	s.must(os.Symlink("config/env", s.ours(".envrc")))
	s.must(os.MkdirAll(s.ours(".git/hooks"), 0o755))
	s.must(os.Symlink("../../scripts/pre-commit", s.ours(".git/hooks/pre-commit")))
	write(t, s.ours(".git/config"), "[core]\n\thooksPath = tools/hooks\n")
	s.copyAgain()
	for path := range files {
		dir, name, _ := strings.Cut(path, "/")
		s.must(os.RemoveAll(s.child(dir)))
		s.must(os.Symlink("lib/"+dir, s.child(dir)))
		write(t, s.child("lib/"+dir+"/"+name), "evil")
	}
	s.asksFor("config", "gradle", "scripts", "tools", // the links
		"lib/config/env", "lib/gradle/wrapper/gradle-wrapper.properties", "lib/scripts/pre-commit", "lib/tools/hooks/pre-push",
		"config/env", "gradle/wrapper/gradle-wrapper.properties", "scripts/pre-commit", "tools/hooks/pre-push") // what is deleted
}

// Links without end cost no more than a bound, and hide nothing: with too many names a path counts as one that runs.
func TestLinksWithoutEnd(t *testing.T) {
	s := newScene(t, map[string]string{"a/x": "x", "b/x": "x"})
	for i := range 6 {
		s.must(os.Symlink("..", s.child(fmt.Sprint("a/up", i)))) // the way of many projects, and harmless
	}
	write(t, s.child("a/x"), "changed")
	s.asksFor()
	for i := range 6 {
		s.must(os.Mkdir(s.child(fmt.Sprint("d", i)), 0o755))
		for j := range 6 {
			s.must(os.Symlink(fmt.Sprint("../d", i+1), s.child(fmt.Sprint("d", i, "/", j))))
		}
	}
	write(t, s.child("d6/harmless"), "x")
	if !slices.Contains(s.running(), "d6/harmless") {
		t.Errorf("it asks for %q", s.running())
	}
}

// Where a repository of the parent's is, get leaves out what runs by itself, hooks too, and what would lie in a git directory.
// A link through one of the parent's that leads out is left out anywhere.
func TestGetIsNoWayAroundTheQuestion(t *testing.T) {
	s := newScene(t, nil)
	t.Setenv("HOME", s.dir)
	s.must(os.Symlink("away/key", s.child("x")))
	s.putAll(map[string]string{".envrc": "evil", "tools/pre-push": "evil", ".bare/hooks/pre-push": "evil", "f": "f", "sub/.envrc": "evil"})
	for _, c := range []struct {
		dir   string
		git   bool
		may   Getting
		wants string
	}{
		{"repository", true, Getting{Replace: true}, ".bare .bare/hooks .bare/hooks/pre-push .envrc sub/.envrc tools/pre-push x"},
		{"repository/below", false, Getting{}, ".envrc sub/.envrc x"},
		{"allowed", true, Getting{Autorun: true}, ".bare .bare/hooks .bare/hooks/pre-push x"},
		{"copied", false, Getting{Home: true}, ".envrc sub/.envrc x"},
		{"elsewhere", false, Getting{}, "x"},
	} {
		to := s.dir + "/" + c.dir
		s.must(os.MkdirAll(to, 0o755))
		s.must(os.Symlink(s.dir, to+"/away"))
		if c.git {
			write(t, to+"/.git/config", "[core]\n hooksPath = tools\n")
			for path, text := range bare(".bare/") {
				write(t, to+"/"+path, text)
			}
		}
		var left []string
		s.must(Get(t.Context(), s.open(s.workspace), Selection{}, Place{Root: s.open(to)}, c.may, func(g Got) error {
			if g.LeftOut != "" {
				left = append(left, g.Path)
			}
			return nil
		}))
		if got := strings.Join(left, " "); got != c.wants {
			t.Errorf("%s: left out is %q, want %q", c.dir, got, c.wants)
		}
	}
}

// Names of which each runs by itself, by kind, and names of ordinary work, for which nothing is asked.
func TestTheList(t *testing.T) {
	for kind, names := range map[string]string{
		"git": "lefthook.yaml lefthook-local.yml lefthook.toml .config/lefthook.yml .lefthook/x/y prek.toml .overcommit.yml .git-hooks/x .lintstagedrc.json .huskyrc",
		"shells": "flake.nix shell.nix default.nix devenv.nix devbox.json .envrc.local .autoenv.leave .shadowenv.d/a mise.dev.toml .mise.local.toml " +
			"mise/config.toml .config/mise/x .pdbrc .Rprofile .Renviron .ghci .ocamlinit .iex.exs jupyter_server_config.py .zlogin .pam_environment",
		"editors": ".helix/languages.toml .vim/x .nvim/init.lua .lazy.lua .gvimrc .project .externalToolBuilders/a .vs/x .nova/x .gitpod.yml .idx/dev.nix " +
			".luarc.json hie.yaml .pylintrc pylintrc mypy.ini .flake8 .rubocop.yml .golangci.yml .eslintrc.js .prettierrc eslint.config.js vite.config.ts " +
			"Directory.Build.props app.csproj NuGet.config Package.swift mix.exs .formatter.exs build.sbt project/plugins.sbt",
		"packages": "Cargo.toml foo.gradle init.gradle.kts buildSrc/x gradlew.bat mvnw.cmd pyproject.toml setup.cfg tox.ini pytest.ini package.yaml " +
			"pnpm-workspace.yaml .pnpmfile.mjs .corepack.env .user.ini .htaccess .bundle/config Gemfile .bazelversion tools/bazel.bat .nx/x .terraform/x .config/dotnet-tools.json",
		"agents": ".agents/x .agent/x AGENT.md QWEN.md CRUSH.md WARP.md .rules crush.json mcp.json .roomodes .goosehints .aider.model.settings.yml .junie/x " +
			".qwen/x .amp/x .augment/x .goose/x .openhands/x .kilocode/x .trae/x .factory/x .copilot/x opencode.jsonc .continuerc.json",
		"ci": "azure-pipelines.yaml .azuredevops/x .woodpecker.yaml .drone.yaml .drone.star .build.yml .builds/x .semaphore/x .tekton/x .teamcity/x .zuul.yaml " +
			"buildspec.yml cloudbuild.yml netlify.toml vercel.json renovate.json5 .renovaterc.json .readthedocs.yml",
		"homes": ".ssh/authorized_keys .config/autostart/x .config/fish/config.fish .local/bin/ls .zlogout .xprofile",
	} {
		for _, name := range strings.Fields(names) {
			if whatRuns(name) == "" || whatRuns("sub/"+name) == "" {
				t.Errorf("%s: %s is not on the list", kind, name)
			}
		}
	}
	for _, name := range strings.Fields("Makefile Dockerfile compose.yaml Vagrantfile pom.xml package-lock.json Cargo.lock go.mod go.sum main.go src/config.js config/app.json README.md vendor/x/y.go project/x.go tools/x mise/x local/bin/x") {
		if what := whatRuns(name); what != "" {
			t.Errorf("%s is asked for: %s", name, what)
		}
	}
	if what := whatRuns(".config/mise/config.toml"); what != "mise" {
		t.Errorf("a directory's reader comes before the file's: %s", what)
	}
}

// A judgement ends with its context, and a path is compared with those rules alone that its names may mean.
func TestAJudgementEnds(t *testing.T) {
	s := newScene(t, nil)
	write(t, s.child("a"), "x")
	work := s.take(Selection{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := work.markSelfRunning(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
	for _, r := range autorun().wild {
		if r.below {
			t.Errorf("%q is tried at each directory of a path", r.pattern)
		}
	}
}

// Lines of both sides may make a script together that neither has made alone.
func TestScriptsOfAMerge(t *testing.T) {
	text := func(member, version, command string) string {
		return fmt.Sprintf("{\n%q: {\n\"a\": \"1\",\n\"b\": \"2\",\n\"install\": %q\n},\n\"c\": 3,\n\"version\": %q\n}\n", member, command, version)
	}
	s := newScene(t, map[string]string{"package.json": text("unused", "1", "harmless"), "sub/package.json": text("scripts", "1", "harmless")})
	write(t, s.ours("package.json"), text("scripts", "1", "harmless"))
	write(t, s.child("package.json"), text("unused", "1", "evil"))
	write(t, s.ours("sub/package.json"), text("scripts", "1", "other"))
	write(t, s.child("sub/package.json"), text("scripts", "2", "harmless"))
	if plan := s.plan(); !plan.Fits() || len(plan.Steps) != 2 {
		t.Fatalf("it does not merge: %+v, %+v", plan.Conflicts, plan.Steps)
	}
	s.asksFor("package.json")
}
