package patch

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/test/missing"
)

// quietGit lets git see no configuration of this machine's, but what a test writes below a directory.
func quietGit(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		missing.Skip(t, "there is no git here")
	}
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", dir+"/home")
	t.Setenv("XDG_CONFIG_HOME", dir+"/xdg")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// git runs git in a directory, and returns what it says.
func (s *scene) git(dir string, args ...string) string {
	s.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %q: %v: %s", args, err, said)
	}
	return strings.TrimRight(string(said), "\n")
}

// A hook of the child's does not get to where the parent's git runs it unasked, whichever of git's configurations names the
// directory, and neither does a file beside it that the parent's own hook sources.
func TestTheParentsGitRunsNoHookUnasked(t *testing.T) {
	const config = "[core]\n\thooksPath = tools\n"
	for name, configure := range map[string]func(t *testing.T, dir string){
		"of the user's, by XDG": func(t *testing.T, dir string) { write(t, dir+"/xdg/git/config", config) },
		"of the system": func(t *testing.T, dir string) {
			write(t, dir+"/etc", config)
			t.Setenv("GIT_CONFIG_NOSYSTEM", "")
			t.Setenv("GIT_CONFIG_SYSTEM", dir+"/etc")
		},
		"of the environment": func(t *testing.T, _ string) {
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
			t.Setenv("GIT_CONFIG_VALUE_0", "tools")
		},
		"of the environment, a file": func(t *testing.T, dir string) {
			write(t, dir+"/other", config)
			t.Setenv("GIT_CONFIG_GLOBAL", dir+"/other")
		},
		"of the environment, one word": func(t *testing.T, _ string) { t.Setenv("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='tools'") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[string]string{"tools/lib": "true\n"})
			quietGit(t, s.dir)
			configure(t, s.dir)
			s.git(s.origin, "init", "-q")
			write(t, s.child("tools/pre-commit"), "#!/bin/sh\n. tools/lib\n")
			s.must(os.Chmod(s.child("tools/pre-commit"), 0o755))
			write(t, s.child("tools/lib"), "touch ../owned\n")
			s.asksFor("tools/lib", "tools/pre-commit")
			s.apply()
			s.git(s.origin, "commit", "-q", "--allow-empty", "-m", "x")
			if _, err := os.Lstat(s.dir + "/owned"); err != nil {
				t.Errorf("git does not run it, so this is no attack: %v", err)
			}
		})
	}
}

// Each way in which git is told of a directory of hooks counts. A helper in it, which is no executable, is asked for. $SRC is the
// parent's directory, and a path of the configurations is below the one that holds it.
func TestHooksOfTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		links map[string]string
		env   map[string]string
	}{
		"the directory, as a link": {links: map[string]string{"src/.git/hooks": "../tools"}},
		"hooksPath":                {files: map[string]string{"src/.git/config": "[core]\n\tHooksPath = tools/\n"}},
		"absolute":                 {files: map[string]string{"src/.git/config": "[core]\n\thookspath = $SRC/tools\n"}},
		"on one line":              {files: map[string]string{"src/.git/config": "[core] hooksPath = tools\n"}},
		"in quotes":                {files: map[string]string{"src/.git/config": "[core]\n hooksPath = \"to\"ol\"s\" # ours\n"}},
		"on two lines":             {files: map[string]string{"src/.git/config": "[core]\n hooksPath = to\\\nols\n"}},
		"included":                 {files: map[string]string{"src/.git/config": "[include]\n path = ../more\n", "src/more": "[core]\nhooksPath=tools"}},
		"included for this place":  {files: map[string]string{"home/.gitconfig": "[includeIf \"gitdir:$SRC/\"]\n path = more\n", "home/more": "[core]\nhooksPath=tools"}},
		"of a working tree": {files: map[string]string{
			"src/.git/config": "[core]\n repositoryformatversion = 1\n[extensions]\n worktreeConfig = true\n", "src/.git/config.worktree": "[core]\n hooksPath = tools\n",
		}},
		"not the last word":             {files: map[string]string{"home/.gitconfig": "[core]\n hooksPath = tools\n", "src/.git/config": "[core]\n hooksPath = other\n"}},
		"below the home":                {files: map[string]string{"src/.git/config": "[core]\n hooksPath = ~/../src/tools\n"}},
		"through a link of the tree":    {links: map[string]string{"src/hooks": "tools"}, files: map[string]string{"src/.git/config": "[core]\n hooksPath = hooks\n"}},
		"through links beside the tree": {links: map[string]string{"a": "b", "b": "src"}, files: map[string]string{"src/.git/config": "[core]\n hooksPath = ../a/tools\n"}},
		"up and down":                   {files: map[string]string{"src/.git/config": "[core]\n hooksPath = x/../../src/./tools/\n"}},
		"in another case":               {files: map[string]string{"src/.git/config": "[core]\n hooksPath = TOOLS\n"}},
		"a link in another case":        {links: map[string]string{"src/here": "."}, files: map[string]string{"src/.git/config": "[core]\n hooksPath = HERE/tools\n"}},
		"of a directory above":          {files: map[string]string{"git": ".", ".git/config": "[core]\n hooksPath = src/tools\n"}},
		"above a repository":            {files: map[string]string{"git": ". src", ".git/config": "[core]\n hooksPath = src/tools\n"}},
		"of a directory below":          {files: map[string]string{"git": "src src/tools", "src/tools/.git/config": "[core]\n hooksPath = .\n"}},
		"of no repository here":         {files: map[string]string{"git": "other", "home/.gitconfig": "[core]\n hooksPath = $SRC/tools\n"}},
		"beside GIT_CONFIG": {
			files: map[string]string{"home/.gitconfig": "[core]\n hooksPath = tools\n", "src/.git/config": "[core]\n hooksPath = other\n"},
			env:   map[string]string{"GIT_CONFIG": "/dev/null"},
		},
		"beside GIT_DIR": {files: map[string]string{"git": "src other", "src/.git/config": "[core]\n hooksPath = tools\n"}, env: map[string]string{"GIT_DIR": "$SRC/../other/.git"}},
		"of GIT_DIR":     {files: map[string]string{"git": "src other", "other/.git/config": "[core]\n hooksPath = tools\n"}, env: map[string]string{"GIT_DIR": "$SRC/../other/.git"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			quietGit(t, s.dir)
			s.origin = s.dir + "/src"
			write(t, s.ours("tools/lib"), "x")
			write(t, s.ours("plain"), "x")
			repositories := c.files["git"]
			if repositories == "" {
				repositories = "src"
			}
			for _, dir := range strings.Fields(repositories) {
				s.must(os.MkdirAll(s.dir+"/"+dir, 0o755))
				s.git(s.dir+"/"+dir, "init", "-q", "--template=")
			}
			for path, text := range c.files {
				if path != "git" {
					write(t, s.dir+"/"+path, strings.ReplaceAll(text, "$SRC", s.origin))
				}
			}
			for path, target := range c.links {
				s.must(os.Symlink(target, s.dir+"/"+path))
			}
			for name, value := range c.env {
				t.Setenv(name, strings.ReplaceAll(value, "$SRC", s.origin))
			}
			s.copyAgain()
			write(t, s.child("tools/lib"), "evil")
			write(t, s.child("plain"), "changed")
			if plan := s.plan(); plan.HooksUnknown != "" {
				t.Error(plan.HooksUnknown)
			}
			s.asksFor("tools/lib")
		})
	}
}

// A linked working tree has its configuration and its hooks elsewhere.
func TestHooksOfALinkedWorkingTree(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.must(os.Mkdir(s.dir+"/main", 0o755))
	s.git(s.dir+"/main", "init", "-q")
	s.git(s.dir+"/main", "commit", "-q", "--allow-empty", "-m", "x")
	s.git(s.dir+"/main", "worktree", "add", "-q", s.dir+"/src")
	s.git(s.dir+"/main", "config", "core.hooksPath", "tools")
	s.origin = s.dir + "/src"
	write(t, s.ours("tools/lib"), "x")
	s.copyAgain()
	write(t, s.child("tools/lib"), "evil")
	write(t, s.child("plain"), "x")
	s.asksFor("tools/lib")
}

// A repository of another user is asked for as well: that user's git runs its hooks.
func TestHooksOfAnotherUsersRepository(t *testing.T) {
	s := newScene(t, map[string]string{"tools/lib": "x"})
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.git(s.origin, "config", "core.hooksPath", "tools")
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	if exec.Command("git", "-C", s.origin, "status").Run() == nil {
		t.Skip("this git looks at no owner")
	}
	write(t, s.child("tools/lib"), "evil")
	s.asksFor("tools/lib")
}

// All that is copied may be a directory of hooks. One beside it is none of it.
func TestWhereHooksAreNotBelow(t *testing.T) {
	s := newScene(t, map[string]string{"plain": "x"})
	quietGit(t, s.dir)
	s.git(s.dir, "init", "-q")
	s.git(s.dir, "config", "core.hooksPath", "origins")
	write(t, s.child("plain"), "changed")
	s.asksFor()
	for _, dir := range []string{"origin", ".", ".."} {
		s.git(s.dir, "config", "core.hooksPath", dir)
		s.asksFor("plain")
	}
}

// A directory that is named through a link lies in the repositories in which it is.
func TestHooksOfADirectoryBehindALink(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	write(t, s.dir+"/repository/src/tools/lib", "x")
	s.git(s.dir+"/repository", "init", "-q")
	s.git(s.dir+"/repository", "config", "core.hooksPath", "src/tools")
	s.must(os.Symlink("repository/src", s.dir+"/link"))
	s.origin = s.dir + "/link"
	s.copyAgain()
	write(t, s.child("tools/lib"), "evil")
	s.asksFor("tools/lib")
}

// Where git does not say where hooks lie, that is said, and executables are asked for as ever.
func TestGitThatSaysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *scene)
		says  string
	}{
		"no git":                    {func(s *scene) { s.Setenv("PATH", s.dir) }, "git cannot be run here"},
		"a git in this directory":   {func(s *scene) { s.Setenv("PATH", ".:bin") }, "git cannot be run here"},
		"a file that names nothing": {func(s *scene) { s.must(os.RemoveAll(s.ours(".git"))); write(s, s.ours(".git"), "nonsense") }, "git does not say"},
		"a configuration like none": {func(s *scene) { write(s, s.ours(".git/config"), "[core") }, "git does not say"},
		"an answer without end": {func(s *scene) {
			write(s, s.dir+"/home/.gitconfig", strings.Repeat("[core]\nhooksPath = "+strings.Repeat("x", 1000)+"\n", 2000))
		}, "git does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[string]string{"tools/hook": "x"})
			quietGit(t, s.dir)
			s.git(s.origin, "init", "-q")
			write(t, s.child("tools/hook"), "evil")
			s.must(os.Chmod(s.child("tools/hook"), 0o755))
			write(t, s.child("plain"), "x")
			c.spoil(s)
			if plan := s.plan(); !strings.Contains(plan.HooksUnknown, c.says) {
				t.Errorf("it says %q", plan.HooksUnknown)
			}
			s.asksFor("tools/hook")
		})
	}
}

// Git that waits for a FIFO is not waited for, nor asked again.
func TestGitThatDoesNotAnswer(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	s.must(syscall.Mkfifo(s.dir+"/fifo", 0o600))
	s.git(s.origin, "config", "include.path", s.dir+"/fifo")
	found := searchHooks(t.Context(), s.origin, 100*time.Millisecond)
	if found.unknown != "git did not answer in time" || found.patience != 0 {
		t.Errorf("it says %q", found.unknown)
	}
}

// Git runs no program to say where hooks lie, whatever its configuration names.
func TestAskingGitRunsNothing(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	s.git(s.origin, "init", "-q")
	touch := "touch " + s.dir + "/owned"
	for _, key := range []string{"core.fsmonitor", "core.pager", "pager.config", "pager.rev-parse", "core.sshCommand", "core.editor", "core.askPass", "credential.helper", "filter.x.process"} {
		s.git(s.origin, "config", key, touch)
	}
	s.git(s.origin, "config", "alias.config", "!"+touch)
	s.git(s.origin, "config", "alias.rev-parse", "!"+touch)
	write(t, s.ours(".git/hooks/post-index-change"), "#!/bin/sh\n"+touch)
	s.must(os.Chmod(s.ours(".git/hooks/post-index-change"), 0o755))
	write(t, s.child("plain"), "x")
	if plan := s.plan(); plan.HooksUnknown != "" {
		t.Error(plan.HooksUnknown)
	}
	if _, err := os.Lstat(s.dir + "/owned"); err == nil {
		t.Error("a program was run")
	}
}

// A repository that lies only on the way to the path that a parent gets counts as any other.
func TestGetAsksForARepositoryOnItsWay(t *testing.T) {
	s := newScene(t, nil)
	quietGit(t, s.dir)
	src := s.dir + "/src"
	s.must(os.MkdirAll(src+"/proj/.githooks", 0o755))
	s.git(src+"/proj", "init", "-q")
	s.git(src+"/proj", "config", "core.hooksPath", ".githooks")
	write(t, s.child("proj/.githooks/pre-commit"), "#!/bin/sh\ntouch ../owned\n")
	s.must(os.Chmod(s.child("proj/.githooks/pre-commit"), 0o755))
	write(t, s.child("proj/.githooks/lib"), "true\n")
	for _, wanted := range []string{"proj/.githooks", "proj/.githooks/pre-commit"} {
		left := map[string]string{}
		_, err := Get(t.Context(), s.open(s.workspace), Selection{Paths: []string{wanted}}, Place{Root: s.open(src), Own: s.store.own}, Getting{}, func(g Got) error {
			left[g.Path] = g.LeftOut
			return nil
		})
		s.must(err)
		if !strings.Contains(left["proj/.githooks/pre-commit"], "runs by itself") || s.has(src+"/proj/.githooks/pre-commit") != "-" || s.has(src+"/proj/.githooks/lib") != "-" {
			t.Errorf("%s: left out is %q", wanted, left)
		}
	}
}
