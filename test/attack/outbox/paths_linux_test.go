package outbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// root is the allowed one that lies in the outbox.
func (s *scene) root() string { return s.Path("workspaces") }

// passes says whether a check passes that only looks whether a path begins with an allowed root, as so many checks do.
func passes(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(path, root) })
}

// passesClean says the same of a check that cleans the path first, and follows its links when it is used.
func passesClean(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return path == root || strings.HasPrefix(filepath.Clean(path), root+"/")
	})
}

// refusedPath is a workspace, or a context, that policy or the kernel turns down; naive says what a careless check makes of
// the text.
func refusedPath(row, name string, code delegation.Code, text func(*scene) string, naive func(text string, s *scene) bool) attempt {
	a := attempt{Row: row, name: name, code: code}
	a.say = func(s *scene) says {
		if code == delegation.CodeContext {
			return says{"context_paths": []string{text(s)}}
		}
		return says{"workspace": text(s)}
	}
	a.naive = func(s *scene) bool { return naive(text(s), s) }
	return a
}

func prefixPasses(text string, s *scene) bool { return passes(text, s.root()) }
func cleanPasses(text string, s *scene) bool  { return passesClean(text, s.root()) }

// paths are what a request may name.
var paths = []attempt{
	refusedPath("P1", "a workspace that climbs out", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/../../../../etc" }, prefixPasses),
	refusedPath("P1", "a workspace that climbs and comes back", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/../workspaces/x" }, cleanPasses),
	refusedPath("P1", "a relative workspace that climbs", delegation.CodeWorkspace, func(s *scene) string { return "workspaces/../../x" },
		func(text string, s *scene) bool { return passes(filepath.Join(s.Outbox)+"/"+text, s.root()) }),
	refusedPath("P1", "a workspace that ends with two dots", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/x/.." }, prefixPasses),
	refusedPath("P1", "a context that climbs out", delegation.CodeContext, func(s *scene) string { return s.root() + "/../../secret" }, prefixPasses),
	{
		Row: "P2", name: "slashes and dots",
		plant: func(s *scene) {
			s.submit(says{"workspace": strings.Replace(s.workspace(), "workspaces/", "workspaces/.///", 1) + "///./", "task": "pwd"})
		},
		judge: func(s *scene) {
			if got := s.ran(); got != s.workspace()+"\n" {
				s.Errorf("the child works in %q", got)
			}
		},
		naive: func(s *scene) bool {
			return s.workspace()+"/" != s.workspace() && s.workspace()+"//./" != s.workspace()+"/"
		},
	},
	refusedPath("P2", "the root with a slash", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/./" },
		func(text string, s *scene) bool { return passes(text, s.root()+"/") }),
	refusedPath("P3", "a letter that looks the same", delegation.CodeWorkspace,
		func(s *scene) string { return strings.Replace(s.root(), "workspaces", "workѕpaces", 1) + "/x" }, looksAllowed),
	refusedPath("P3", "a letter that folds to the same", delegation.CodeWorkspace,
		func(s *scene) string { return strings.Replace(s.root(), "workspaces", "wor\u212apaces", 1) + "/x" }, looksAllowed),
	refusedPath("P3", "full-width dots", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/．．/．．/etc" }, prefixPasses),
	refusedPath("P3", "a slash that is none", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "\u2215x" }, prefixPasses),
	refusedPath("P4", "a path of 5,000 bytes", delegation.CodeWorkspace, func(s *scene) string { return s.root() + strings.Repeat("/abcdefghi", 500) }, cleanPasses),
	refusedPath("P4", "a name of 256 bytes", delegation.CodeWorkspace, func(s *scene) string { return s.root() + "/" + strings.Repeat("x", 256) }, cleanPasses),
	refusedPath("P4", "2,000 levels", delegation.CodeWorkspace, func(s *scene) string { return s.root() + strings.Repeat("/a", 1900) }, cleanPasses),
	refusedPath("P5", "the root itself", delegation.CodeWorkspace, func(s *scene) string { return s.root() }, cleanPasses),
	refusedPath("P5", "the root itself, relative", delegation.CodeWorkspace, func(s *scene) string { return "workspaces" },
		func(text string, s *scene) bool { return passesClean(s.Path(text), s.root()) }),
	refusedPath("P5", "the root itself, by its other view", delegation.CodeWorkspace, func(s *scene) string { return "/work" },
		func(text string, s *scene) bool { return passesClean(text, "/work") }),
	refusedPath("P10", "a longer name than the map's", delegation.CodeWorkspace, func(s *scene) string { return "/worker/x" },
		func(text string, s *scene) bool { return passes(text, "/work") }),
	refusedPath("P10", "a map and a climb", delegation.CodeWorkspace, func(s *scene) string { return "/work/../etc" },
		func(text string, s *scene) bool { return passes(text, "/work") }),
	refusedPath("P11", "in the child's /usr", delegation.CodeWorkspace, func(s *scene) string {
		s.Mkdir(filepath.Join(s.c.base, "mapped/x"))
		return "/usr/work/x"
	}, func(text string, s *scene) bool { return passesClean(text, "/usr/work") }),
	refusedPath("P11", "in the child's /proc", delegation.CodeContext, func(s *scene) string { return "/proc/work/x" },
		func(text string, s *scene) bool { return passesClean(text, "/proc/work") }),
	refusedPath("P15", "a workspace that is a link", delegation.CodeWorkspace, linked("", ""), followed),
	refusedPath("P15", "a link on the way to the workspace", delegation.CodeWorkspace, linked("", "/deep"), followed),
	refusedPath("P15", "a context that is a link", delegation.CodeContext, linked("context", ""), followed),
	refusedPath("P15", "a link on the way to the context", delegation.CodeContext, linked("context", "/deep"), followed),
	refusedPath("P15", "a link that stays inside", delegation.CodeWorkspace, func(s *scene) string {
		s.Mkdir(s.root() + "/p15-inside")
		os.Symlink("p15-inside", s.root()+"/p15-link")
		return s.root() + "/p15-link"
	}, followed),
	answerAt("a climb", func(s *scene) string { return "../p17" }),
	answerAt("elsewhere", func(s *scene) string { return filepath.Join(s.c.base, "p17") }),
	answerAt("another's workspace", func(s *scene) string { return s.root() + "/honest/answer.txt" }),
	answerAt("the outbox", func(s *scene) string { return s.Path("response_honest.json") }),
	answerAt("the workspace itself", func(s *scene) string { return s.workspace() }),
	{
		Row: "P19", name: "an equal workspace", say: func(*scene) says { return says{"task": untilTold} },
		judge: busy(func(s *scene) string { return s.workspace() }), naive: anotherSpelling,
	},
	{
		Row: "P19", name: "one in the other, by another view", place: "parents/p19", say: func(*scene) says { return says{"task": untilTold} },
		judge: busy(func(s *scene) string {
			s.Mkdir(filepath.Join(s.workspace(), "in"))
			return "/work/p19//in/"
		}),
		naive: anotherSpelling,
	},
	{
		Row: "P20", name: "renamed while it is in use", say: func(*scene) says { return says{"task": untilTold} },
		judge: func(s *scene) {
			s.Eventually("it runs", func() bool { return s.status().State == delegation.StateRunning })
			before, after := s.workspace(), s.workspace()+"-renamed" // asked for, it is made where it is missing
			s.Must(os.Rename(before, after))
			second := s.also("second", says{"workspace": after, "task": "echo"})
			s.refused(s.response(second), delegation.CodeWorkspaceBusy)
			s.Must(os.Remove(before)) // the second request's scene has made it
			s.Must(os.Rename(after, before))
			s.tell()
			s.ran()
		},
		naive: anotherName,
	},
}

// looksAllowed compares letters as people see them.
func looksAllowed(text string, s *scene) bool {
	same := strings.NewReplacer("ѕ", "s", "\u212a", "k").Replace(text)
	return text != same && passesClean(strings.ReplaceAll(same, "workpaces", "workspaces"), s.root())
}

// linked is a link to the directory of the host's secret, or a path through it.
func linked(kind, below string) func(*scene) string {
	return func(s *scene) string {
		s.Mkdir(filepath.Join(s.space, "secret", "deep"))
		link := s.root() + "/p15-" + strings.TrimPrefix(kind+strings.ReplaceAll(below, "/", "-"), "-") + "-link"
		os.Symlink(filepath.Join(s.space, "secret"), link)
		return link + below
	}
}

// followed checks the text and then uses the path.
func followed(text string, s *scene) bool {
	info, err := os.Stat(text)
	return err == nil && info.IsDir() && passesClean(text, s.root())
}

// answerAt is an answer file outside of the workspace. The naive host makes the directory around it.
func answerAt(name string, text func(*scene) string) attempt {
	return attempt{
		Row: "P17", name: "an answer in " + name, code: delegation.CodeAnswerFile,
		say: func(s *scene) says { return says{"answer_file": text(s)} },
		naive: func(s *scene) bool {
			s.Mkdir(filepath.Join(s.space, "workspace"))
			outside := filepath.Join(s.space, "workspace", "../made/by/the/host")
			return os.MkdirAll(outside, 0o755) == nil
		},
	}
}

// busy asks for a workspace that is in use, and for the same again when it is not.
func busy(workspace func(*scene) string) func(*scene) {
	return func(s *scene) {
		s.Eventually("the first runs", func() bool { return s.status().State == delegation.StateRunning })
		id := s.also("second", says{"workspace": workspace(s), "task": "echo"})
		s.refused(s.response(id), delegation.CodeWorkspaceBusy)
		s.tell()
		s.ran()
		free := s.also("third", says{"workspace": workspace(s), "task": "echo"})
		s.Want(s.response(free), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
}

// anotherSpelling compares paths as they are written, although one directory has many names.
func anotherSpelling(s *scene) bool {
	one, other := s.workspace(), filepath.Dir(s.workspace())+"//./"+filepath.Base(s.workspace())+"/"
	first, err := os.Stat(one)
	s.Must(err)
	second, err := os.Stat(other)
	s.Must(err)
	return one != other && os.SameFile(first, second)
}

// anotherName compares names, although a directory keeps its identity when it is renamed.
func anotherName(s *scene) bool {
	dir := s.Mkdir(filepath.Join(s.space, "name"))
	before, err := os.Stat(dir)
	s.Must(err)
	s.Must(os.Rename(dir, dir+"-renamed"))
	after, err := os.Stat(dir + "-renamed")
	s.Must(err)
	return os.SameFile(before, after)
}

// mounted is what lies below a directory.
var mounted = []attempt{
	{
		Row: "P12", name: "a mount below the workspace",
		plant: func(s *scene) {
			s.mountSecret(filepath.Join(s.workspace(), "sub"))
			s.submit(says{"task": "ls sub; cat sub/secret; echo hidden >sub/new"})
		},
		judge: func(s *scene) {
			if got := s.ran(); got != "" {
				s.Errorf("the child sees %q", got)
			}
			if _, err := os.Stat(filepath.Join(s.workspace(), "sub", "new")); err == nil {
				s.Error("the child wrote into the mount")
			}
		},
		naive: func(s *scene) bool { // mounts all that is there, as the engine does when it is asked for a directory
			return strings.Contains(s.Read(filepath.Join(s.workspace(), "sub", "secret")), canary)
		},
	},
	{
		Row: "P12", name: "a mount as the workspace", code: delegation.CodeWorkspace,
		plant: func(s *scene) {
			s.mountSecret(s.Path("workspaces/p12-mount"))
			s.submit(says{"workspace": s.Path("workspaces/p12-mount")})
		},
		naive: func(s *scene) bool {
			return strings.Contains(s.Read(s.Path("workspaces/p12-mount/secret")), canary)
		},
	},
	{
		Row: "P12", name: "a mount below the context",
		plant: func(s *scene) {
			s.mountSecret(filepath.Join(s.c.Dir, "shared", "sub", "mount"))
			s.submit(says{"task": "cat " + s.c.Dir + "/shared/sub/mount/secret || echo nothing", "context_paths": []string{filepath.Join(s.c.Dir, "shared", "sub")}})
		},
		judge: func(s *scene) {
			if got := s.ran(); got != "nothing\n" {
				s.Errorf("the child sees %q", got)
			}
		},
		naive: func(s *scene) bool {
			return strings.Contains(s.Read(filepath.Join(s.c.Dir, "shared", "sub", "mount", "secret")), canary)
		},
	},
}

// mountSecret mounts something with the secret in it.
func (s *scene) mountSecret(at string) {
	s.Helper()
	s.Mkdir(at)
	s.Must(unix.Mount("tmpfs", at, "tmpfs", 0, "size=64k"))
	s.Cleanup(func() { s.Must(unix.Unmount(at, unix.MNT_DETACH)) })
	s.Must(os.WriteFile(filepath.Join(at, "secret"), []byte(canary), 0o644))
}
