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
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "config", "core.hooksPath", "tools")
	write(t, s.ours("tools/pre-push"), "x")
	write(t, s.ours("bin/check"), "x")
	s.must(os.Chmod(s.ours("bin/check"), 0o755))
	s.must(os.Symlink("bin/check", s.ours("check")))
	write(t, s.ours("other/plain"), "x")
	s.copyAgain()
	for path := range forbidding {
		s.must(os.Remove(s.child(path)))
	}
	s.must(os.RemoveAll(s.child(".github")))
	s.must(os.RemoveAll(s.child("tools")))
	s.must(os.RemoveAll(s.child("bin")))
	s.must(os.Remove(s.child("check")))
	s.must(os.RemoveAll(s.child("other")))
	write(t, s.child(".npmrc/x"), "a directory now")
	s.asksFor(append(slices.Collect(maps.Keys(forbidding)), "tools/pre-push", "bin/check", "check", ".npmrc/x")...)
}

// copyAgain copies once more, into an empty workspace.
func (s *scene) copyAgain() Report {
	s.Helper()
	s.must(os.RemoveAll(s.workspace))
	s.must(os.Mkdir(s.workspace, 0o755))
	return s.copy()
}

// A directory that becomes a link decides which files lie below it, so it needs a word. What is asked for by a name that leads
// through that link is asked for at its new place, too: by the list, by a link, or as a hook of the parent's.
func TestADirectoryExchangedForALink(t *testing.T) {
	files := map[string]string{
		"config/env": "x", "gradle/wrapper/gradle-wrapper.properties": "x", "scripts/pre-commit": "x", "tools/hooks/pre-push": "x", "plain/x": "x",
	}
	s := newScene(t, files)
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "config", "core.hooksPath", "tools/hooks")
	s.must(os.Symlink("config/env", s.ours(".envrc")))
	s.must(os.Chmod(s.ours("scripts/pre-commit"), 0o755))
	s.must(os.Symlink("../../scripts/pre-commit", s.ours(".git/hooks/pre-commit")))
	s.copyAgain()
	for path := range files {
		dir, name, _ := strings.Cut(path, "/")
		s.must(os.RemoveAll(s.child(dir)))
		s.must(os.Symlink("lib/"+dir, s.child(dir)))
		write(t, s.child("lib/"+dir+"/"+name), "evil")
		if dir == "scripts" { // git runs no hook that is no executable
			s.must(os.Chmod(s.child("lib/"+dir+"/"+name), 0o755))
		}
	}
	s.asksFor("config", "gradle", "plain", "scripts", "tools", // the links
		"lib/config/env", "lib/gradle/wrapper/gradle-wrapper.properties", "lib/scripts/pre-commit", "lib/tools/hooks/pre-push",
		"config/env", "gradle/wrapper/gradle-wrapper.properties", "scripts/pre-commit", "tools/hooks/pre-push") // what is deleted
}

// Links without end are followed as far as a kernel follows them, and hide nothing on the way.
func TestLinksWithoutEnd(t *testing.T) {
	s := newScene(t, map[string]string{"a/x": "x", "b/x": "x"})
	for i := range 6 {
		s.must(os.Symlink("..", s.ours(fmt.Sprint("a/up", i)))) // the way of many projects, and harmless
	}
	s.copyAgain()
	write(t, s.child("a/x"), "changed")
	s.asksFor()
	s.must(os.Symlink("loop", s.child("a/loop")))
	s.must(os.Symlink("a/loop", s.child(".bashrc")))
	s.must(os.Symlink("end/0", s.child(".zshrc")))
	links := []string{".bashrc", ".zshrc", "a/loop"}
	s.must(os.Mkdir(s.child("end"), 0o755))
	for i := range maxLinks - 1 {
		at := fmt.Sprint("end/", i)
		s.must(os.Symlink(fmt.Sprint(i+1), s.child(at)))
		links = append(links, at)
	}
	last := fmt.Sprint("end/", maxLinks-1)
	write(t, s.child(last), "the kernel gets here")
	if text, err := os.ReadFile(s.child(".zshrc")); err != nil || string(text) != "the kernel gets here" {
		t.Skip("this kernel follows fewer links:", err)
	}
	s.asksFor(append(links, last)...)
}

// A place is reached through links that lie in places, in any order and through any tree: of the parent's and of the child's.
func TestLinksInPlaces(t *testing.T) {
	s := newScene(t, nil)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("p%d/plain", i))
		write(t, s.ours(want[i]), "x")
		s.must(os.Symlink(fmt.Sprintf("../p%d", i-1), s.ours(fmt.Sprintf("p%d/more", i))))
	}
	s.must(os.Symlink("p8", s.ours(".vscode")))
	s.must(os.Symlink("KEPT/env", s.ours(".envrc"))) // where case does not count
	s.must(os.Symlink("lib", s.ours("kept")))
	write(t, s.ours("lib/env"), "x")
	s.copyAgain()
	want = append(want, "lib/env")
	for _, p := range want {
		write(t, s.child(p), "evil")
	}
	write(t, s.child("harmless"), "x")
	s.asksFor(want...)
}

// What is, was or shall be there decides. So does what the parent has made of a file since.
func TestWhatIsAskedFor(t *testing.T) {
	plain, program, link, dir := &Entry{Kind: File}, &Entry{Kind: File, Exec: true}, &Entry{Kind: Link, Target: "x"}, &Entry{Kind: Directory}
	places := asked{"tools": "git"}
	for _, c := range []struct {
		path  string
		sides []*Entry
		want  string
	}{
		{"x", []*Entry{nil, plain}, ""},
		{"x", []*Entry{plain, nil}, ""},
		{"x", []*Entry{nil, program}, anExecutable},
		{"x", []*Entry{program, program}, anExecutable},
		{"x", []*Entry{program, plain}, anExecutable},
		{"x", []*Entry{program, nil}, anExecutable},
		{"x", []*Entry{plain, plain, program}, anExecutable},
		{"x", []*Entry{nil, link}, aLink},
		{"x", []*Entry{link, plain}, aLink},
		{"x", []*Entry{dir, link}, aLink},
		{"x", []*Entry{link, nil}, aLink},
		{".x", []*Entry{nil, plain}, aDotName},
		{"a/.x/b/c", []*Entry{nil, plain}, aDotName},
		{"a/\uff0ex", []*Entry{nil, plain}, aDotName},
		{"a/\u2024x", []*Entry{nil, plain}, aDotName},
		{"a/\ufe52x", []*Entry{nil, plain}, aDotName},
		{"a/\u2026", []*Entry{nil, plain}, aDotName},
		{"a/...", []*Entry{nil, plain}, aDotName},
		{"a/x.y", []*Entry{nil, plain}, ""},
		{"VSCODE~1/tasks.json", []*Entry{nil, plain}, aShortName},
		{"a/GIT~12.DIR", []*Entry{nil, plain}, aShortName},
		{"a/b~", []*Entry{nil, plain}, ""},
		{"a/much-longer~1", []*Entry{nil, plain}, ""},
		{".x", []*Entry{nil, dir}, ""},
		{".x", []*Entry{dir, nil}, ""},
		{".x", []*Entry{nil, program}, anExecutable},
		{"MAKEFILE", []*Entry{nil, plain}, onTheList("Makefile")},
		{"Makefile. .", []*Entry{nil, plain}, onTheList("Makefile")},
		{"Makefile::$DATA", []*Entry{nil, plain}, onTheList("Makefile")},
		{"Makefile", []*Entry{plain, link}, onTheList("Makefile")},
		{"tools", []*Entry{nil, plain}, "git"},
		{"TOOLS/a/b", []*Entry{nil, plain}, "git"},
		{"tools/x", []*Entry{nil, program}, "git"},
		{"tools2/x", []*Entry{nil, plain}, ""},
	} {
		if got := places.why(c.path, c.sides...); got != c.want {
			t.Errorf("%q, %+v: %q, want %q", c.path, c.sides, got, c.want)
		}
	}
	if got := (asked{".": "all"}).why("x", plain); got != "all" {
		t.Errorf("of all it is %q", got)
	}
	s := newScene(t, map[string]string{"f": "1\n2\n3\n", "g": "x"})
	write(t, s.child("f"), "child\n2\n3\n")
	write(t, s.ours("f"), "1\n2\nparent\n")
	s.must(os.Chmod(s.ours("f"), 0o755))
	s.asksFor("f")
}

// Where a repository of the parent's is, get leaves out what runs by itself, hooks too, and what would lie in a git directory.
// A link through one of the parent's that leads out is left out anywhere.
func TestGetIsNoWayAroundTheQuestion(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.must(errors.Join(os.Symlink("away/key", s.child("x")), os.Symlink(".", s.child("l")), os.Symlink("l/away/key", s.child("y"))))
	s.putAll(map[string]string{".envrc": "evil", "tools/pre-push": "evil", ".bare/hooks/pre-push": "evil", "f": "f", "run": "evil", "sub/.envrc": "evil", "sub/tools/lib": "evil", "was": "x"})
	s.must(os.Chmod(s.child("run"), 0o755))
	for _, c := range []struct {
		dir   string
		git   bool
		may   Getting
		wants string
	}{
		{"repository", true, Getting{Replace: true}, ".bare .bare/hooks .bare/hooks/pre-push .envrc l run sub/.envrc sub/tools/lib tools/pre-push was x y"},
		{"repository/below", false, Getting{}, ".bare/hooks/pre-push .envrc l run sub/.envrc x y"},
		{"allowed", true, Getting{Autorun: true, Replace: true}, ".bare .bare/hooks .bare/hooks/pre-push x y"},
		{"copied", false, Getting{Home: true}, ".bare/hooks/pre-push .envrc l run sub/.envrc x y"},
		{"elsewhere", false, Getting{}, "x y"},
	} {
		to := s.dir + "/" + c.dir
		s.must(os.MkdirAll(to, 0o755))
		s.must(os.Symlink(s.dir, to+"/away"))
		if c.git {
			s.git(to, "init", "-q")
			s.git(to, "config", "core.hooksPath", "tools")
			s.must(os.MkdirAll(to+"/sub", 0o755))
			s.git(to+"/sub", "init", "-q")
			s.git(to+"/sub", "config", "core.hooksPath", "tools")
			write(t, to+"/was", "x")
			s.must(os.Chmod(to+"/was", 0o755))
			for path, text := range bare(".bare/") {
				write(t, to+"/"+path, text)
			}
		}
		var left []string
		_, err := Get(t.Context(), s.open(s.workspace), Selection{}, Place{Root: s.open(to)}, c.may, func(g Got) error {
			if g.LeftOut != "" {
				left = append(left, g.Path)
			}
			return nil
		})
		s.must(err)
		if got := strings.Join(left, " "); got != c.wants {
			t.Errorf("%s: left out is %q, want %q", c.dir, got, c.wants)
		}
	}
}

// TestGetWritesTheModeThatItJudged: a child that is still at work makes a file executable between the two.
func TestGetWritesTheModeThatItJudged(t *testing.T) {
	s := newScene(t, nil)
	write(t, s.child("x"), "evil")
	from, to := s.open(s.workspace), s.open(s.dir)
	info, err := from.Lstat("x")
	s.must(errors.Join(err, os.Chmod(s.child("x"), 0o755)))
	g := &getting{
		ctx: t.Context(), to: target{root: to}, tell: func(Got) error { return nil },
		forms: map[string]string{}, found: map[string]bool{}, made: map[string]bool{}, links: map[string]*Got{},
	}
	s.must(errors.Join(g.lookAround(), g.visit(found{in: from, path: "x", name: "x", info: info})))
	if written, err := to.Lstat("x"); err != nil || written.Mode()&0o111 != 0 {
		t.Errorf("it is written as %v, %v", written, err)
	}
}

// TestGetLeadsThroughNoLinkOfTheParents: where the parent has a link, or a directory with one, under the name of a link of the child's, that one stays, and
// no other link leads through it.
func TestGetLeadsThroughNoLinkOfTheParents(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	to := s.dir + "/to"
	s.must(errors.Join(os.Mkdir(to, 0o755), os.Symlink(s.dir, to+"/d"), os.Mkdir(to+"/k", 0o755), os.Symlink(s.dir, to+"/k/out")))
	for link, target := range map[string]string{"d": "sub", "a": "d/key", "e": "d/key", "k": "sub", "b": "k/out/key", "z": "k/out/key", "fine": "sub/key"} {
		s.must(os.Symlink(target, s.child(link)))
	}
	write(t, s.child("sub/key"), "the child's")
	var left []string
	_, err := Get(t.Context(), s.open(s.workspace), Selection{}, Place{Root: s.open(to)}, Getting{}, func(g Got) error {
		if g.LeftOut != "" {
			left = append(left, g.Path)
		}
		return nil
	})
	s.must(err)
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "a b d e k z" {
		t.Errorf("left out is %q", got)
	}
}

// TestLinksThatLeadOutThroughOthers are refused: through one of the child's, through one that is there, and into a git directory of another name.
func TestLinksThatLeadOutThroughOthers(t *testing.T) {
	s := newScene(t, map[string]string{"f": "f"})
	s.must(errors.Join(os.Symlink(s.dir, s.ours("away")), os.Symlink(".", s.ours("here")), os.Mkdir(s.ours("git"), 0o755)))
	for path, text := range bare("git/") {
		write(t, s.ours(path), text)
	}
	for link, target := range map[string]string{
		"l": ".", "new": "l/away/key", "old": "here/away/key", "twice": "l/here/away", "hooks": "l/git/hooks", "round": "l/round", "fine": "l/f", "nowhere": "l/none/x",
	} {
		s.must(os.Symlink(target, s.child(link)))
	}
	plan, err := s.take(Selection{}).Plan(t.Context(), s.origin, s.open(s.origin))
	s.must(err)
	var refused []string
	for _, r := range plan.Refused {
		refused = append(refused, r.Path)
	}
	slices.Sort(refused)
	if got := strings.Join(refused, " "); got != "hooks new old round twice" {
		t.Errorf("refused are %q: %+v", got, plan.Refused)
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
		"packages": "Makefile GNUmakefile composer.json package.json conftest.py gradle/wrapper/gradle-wrapper.properties Cargo.toml foo.gradle init.gradle.kts buildSrc/x gradlew.bat mvnw.cmd pyproject.toml setup.cfg tox.ini pytest.ini package.yaml " +
			"pnpm-workspace.yaml .pnpmfile.mjs .corepack.env .user.ini .htaccess .bundle/config Gemfile .bazelversion tools/bazel.bat .nx/x .terraform/x .config/dotnet-tools.json",
		"agents": ".agents/x .agent/x AGENT.md QWEN.md CRUSH.md WARP.md .rules crush.json mcp.json .roomodes .goosehints .aider.model.settings.yml .junie/x " +
			".qwen/x .amp/x .augment/x .goose/x .openhands/x .kilocode/x .trae/x .factory/x .copilot/x opencode.jsonc .continuerc.json",
		"ci": "azure-pipelines.yaml .azuredevops/x .woodpecker.yaml .drone.yaml .drone.star .build.yml .builds/x .semaphore/x .tekton/x .teamcity/x .zuul.yaml " +
			"buildspec.yml cloudbuild.yml netlify.toml vercel.json renovate.json5 .renovaterc.json .readthedocs.yml",
		"homes": ".ssh/authorized_keys .config/autostart/x .config/fish/config.fish .local/bin/ls .zlogout .xprofile",
	} {
		for _, name := range strings.Fields(names) {
			if onTheList(name) == "" || onTheList("sub/"+name) == "" {
				t.Errorf("%s: %s is not on the list", kind, name)
			}
		}
	}
	for _, name := range strings.Fields("Dockerfile compose.yaml Vagrantfile pom.xml package-lock.json Cargo.lock go.mod go.sum main.go src/config.js config/app.json README.md vendor/x/y.go project/x.go tools/x local/bin/x") {
		if what := onTheList(name); what != "" {
			t.Errorf("%s is asked for: %s", name, what)
		}
	}
	if what := onTheList(".config/mise/config.toml"); what != "mise" {
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
	if err := work.askFor(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
	for _, r := range autorun().wild {
		if r.below {
			t.Errorf("%q is tried at each directory of a path", r.pattern)
		}
	}
}

// What is merged of both sides is asked for as what one side has changed.
func TestScriptsOfAMerge(t *testing.T) {
	s := newScene(t, map[string]string{"package.json": "{\n1\n2\n}\n"})
	write(t, s.ours("package.json"), "{\n1\nparent\n}\n")
	write(t, s.child("package.json"), "child\n1\n2\n}\n")
	if plan := s.plan(); !plan.Fits() || len(plan.Steps) != 1 || !plan.Steps[0].Merged {
		t.Fatalf("it does not merge: %+v, %+v", plan.Conflicts, plan.Steps)
	}
	s.asksFor("package.json")
}

// onTheList says what the list says of a path.
func onTheList(p string) string { return autorun().what(plainNames(p)) }
