package patch

import (
	"os"
	"strings"
	"testing"
)

// A program that git runs as a hook is found by each way in which git is told of it. $SRC is the parent's directory.
func TestHooksOfTheParent(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string // of the parent's, below the directory that holds $SRC
		links map[string]string
	}{
		"a link":                       {links: map[string]string{"src/.git/hooks/pre-commit": "../../tools/hook"}},
		"an absolute link":             {links: map[string]string{"src/.git/hooks/pre-commit": "$SRC/tools/hook"}},
		"the directory, as a link":     {links: map[string]string{"src/.git/hooks": "../tools"}},
		"hooksPath":                    {files: map[string]string{"src/.git/config": "[core]\n\tHooksPath = tools/\n"}},
		"absolute":                     {files: map[string]string{"src/.git/config": "[core]\n\thookspath = $SRC/tools\n"}},
		"on one line":                  {files: map[string]string{"src/.git/config": "[core] hooksPath = tools\n"}},
		"with a comment":               {files: map[string]string{"src/.git/config": "[core]\n hooksPath = tools ; ours\n"}},
		"in quotes":                    {files: map[string]string{"src/.git/config": "[core]\n hooksPath = \"to\"ol\"s\" # ours\n"}},
		"on two lines":                 {files: map[string]string{"src/.git/config": "[core]\n hooksPath = to\\\nols\n"}},
		"included":                     {files: map[string]string{"src/.git/config": "[include]\n path = ../more\n", "src/more": "[core]\nhooksPath=tools"}},
		"of a working tree":            {files: map[string]string{"src/.git/config.worktree": "[core]\n hooksPath = tools\n"}},
		"a file that names it":         {files: map[string]string{"src/.git": "gitdir: ../real\n", "real/config": "[core]\n hooksPath = tools\n"}},
		"a link that names it":         {links: map[string]string{"src/.git": "../real"}, files: map[string]string{"real/config": "[core]\n hooksPath = tools\n"}},
		"with a common directory":      {files: map[string]string{"src/.git": "gitdir: ../real/worktrees/a\n", "real/worktrees/a/commondir": "../..\n", "real/config": "[core]\n hooksPath = tools\n"}},
		"of a directory above":         {files: map[string]string{".git/config": "[core]\n hooksPath = src/tools\n"}},
		"of a directory below":         {files: map[string]string{"src/tools/.git/config": "[core]\n hooksPath = .\n"}},
		"all that is copied":           {files: map[string]string{".git/config": "[core]\n hooksPath = src\n"}},
		"of the user's":                {files: map[string]string{"home/.gitconfig": "[core]\n hooksPath = tools\n", "src/.git/config": ""}},
		"a file that names nothing":    {files: map[string]string{"src/.git": "nonsense"}},
		"a configuration too long":     {files: map[string]string{"src/.git/config": strings.Repeat("#", maxText) + "\n[core]\nhooksPath = tools"}},
		"a configuration like no file": {files: map[string]string{"src/.git/config/x": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			s.origin = s.dir + "/src"
			write(t, s.ours("tools/hook"), "x")
			write(t, s.ours("plain"), "x")
			s.must(os.Chmod(s.ours("tools/hook"), 0o755))
			t.Setenv("HOME", s.dir+"/home")
			for path, text := range c.files {
				write(t, s.dir+"/"+path, strings.ReplaceAll(text, "$SRC", s.origin))
			}
			for path, target := range c.links {
				s.must(os.MkdirAll(above(s.dir+"/"+path), 0o755))
				s.must(os.Symlink(strings.ReplaceAll(target, "$SRC", s.origin), s.dir+"/"+path))
			}
			s.copyAgain()
			write(t, s.child("tools/hook"), "evil")
			if got := s.running(); len(got) != 1 || got[0] != "tools/hook" {
				t.Errorf("it asks for %q", got)
			}
			write(t, s.child("plain"), "changed")
			if got := s.running(); name != "all that is copied" && len(got) != 1 {
				t.Errorf("it asks for %q", got)
			}
		})
	}
}
