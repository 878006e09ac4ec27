package mounts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// FuzzResolve builds a tree of directories, links and worse, compiles a request that names two places in it, and pins what
// was compiled. The kernel says what is true, by inode: what is pinned is the very thing that the text names, inside a
// root and apart from every withheld place; what policy refuses is outside, or kept, or has no one meaning; and nothing that
// is plainly there is refused on the way.
func FuzzResolve(f *testing.F) {
	for _, attack := range hostilePlaces {
		f.Add(attack.tree, attack.workspace, attack.context)
	}
	f.Fuzz(func(t *testing.T, tree []byte, workspace, context string) {
		w := newGround(t, tree)
		workspace, context = strings.ReplaceAll(workspace, "@", w.root), strings.ReplaceAll(context, "@", w.root)
		spec, _, err := compile.Compile(w.request(workspace, context), w.policy)
		if err != nil {
			w.checkRefused(err.(*delegation.Refusal), workspace, context)
			return
		}
		for _, m := range spec.Mounts {
			text := context
			if m.Workspace {
				text = workspace
			}
			w.checkMount(m, text)
		}
	})
}

// ground is a tree with the policy of an outbox in it. A root for reading lies in one for writing.
type ground struct {
	t      *testing.T
	root   string
	policy compile.Policy
	bases  *Bases
}

// groundDirs are there from the start: roots, a neighbour whose name begins like a root's, and places that are kept.
var groundDirs = []string{"allow", "allow/kept", "box", "box/workspaces", "read", "hidden", "outside", "allow-not", "allow/a", "box/workspaces/a", "allow/docs"}

func newGround(t *testing.T, tree []byte) *ground {
	root := filepath.Join(t.TempDir(), "g")
	var dirs []string
	for _, dir := range groundDirs {
		dirs = append(dirs, filepath.Join(root, dir))
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "outside/secret"), []byte("secret"), 0o600))
	plant(root, dirs, tree)
	at := func(dir string) string { return filepath.Join(root, dir) }
	w := &ground{t: t, root: root, policy: compile.Policy{
		Outbox: "main", Dir: at("box"), Hidden: []string{at("hidden"), at("allow/kept")},
		Allow: []compile.Root{compile.Root(at("allow")), compile.Root(at("box/workspaces"))}, Read: []compile.Root{compile.Root(at("read")), compile.Root(at("allow/docs"))},
		Paths:    []compile.PathMap{{Parent: "/p", Here: at("allow")}, {Parent: "/p/r", Here: at("read")}, {Parent: "/outbox", Here: at("box")}},
		Profiles: []compile.Profile{{Name: "p"}},
	}}
	var err error
	w.bases, err = OpenBases([]string{at("allow"), at("box"), at("read")})
	must(t, err)
	t.Cleanup(func() { w.bases.Close() })
	return w
}

// plantNames are the names that a tree can have, and what a request can hardly do without.
var plantNames = []string{"a", "b", "c", "r", "kept", "...", "a b", "ü", "s1"}

// plant adds entries, four bytes for each: what it is, in which directory, its name, and where it leads. What does not
// work (a name that is taken) is left out.
func plant(root string, dirs []string, tree []byte) {
	for ; len(tree) >= 4 && len(dirs) < 40; tree = tree[4:] {
		path := filepath.Join(dirs[int(tree[1])%len(dirs)], plantNames[int(tree[2])%len(plantNames)])
		target := dirs[int(tree[3])%len(dirs)]
		var err error
		switch tree[0] % 8 {
		case 0, 1:
			err = os.Mkdir(path, 0o755)
		case 2:
			err = os.Symlink(target, path)
		case 3:
			rel, _ := filepath.Rel(filepath.Dir(path), target)
			err = os.Symlink(rel, path)
		case 4:
			err = os.Symlink([]string{"..", "/", ".", "/proc/self/root", "/proc/self/cwd", "nowhere"}[int(tree[3])%6], path)
		case 5:
			err = unix.Mknod(path, unix.S_IFREG|0o600, 0) // never what is there already
		case 6:
			err = os.Link(filepath.Join(root, "outside/secret"), path)
		case 7:
			err = unix.Mkfifo(path, 0o600)
		}
		if err == nil && tree[0]%8 <= 2 {
			dirs = append(dirs, path) // things are planted below links, too, but only below those that stay in the tree
		}
	}
}

func (w *ground) request(workspace, context string) delegation.Request {
	r := delegation.Request{Task: "t", Workspace: workspace, TimeoutSeconds: 1}
	must(w.t, r.SubagentID.UnmarshalText([]byte("s1")), r.RequestID.UnmarshalText([]byte("r1")))
	if context != "" {
		r.ContextPaths = []string{context}
	}
	return r
}

// checkMount pins a place that policy let through.
func (w *ground) checkMount(m sandbox.Mount, text string) {
	w.t.Helper()
	here := filepath.Join(m.Source.Base, m.Source.Rel)
	pin, err := w.bases.Pin(m.Source)
	if err != nil {
		if plain(here) && strings.Count(m.Source.Rel, "/") < maxDepth {
			w.t.Errorf("%s is plainly there and was refused: %v", here, err)
		}
		return
	}
	defer pin.Close()
	named := w.named(text)
	if real, err := pin.HerePath(); err != nil || real != here || !pin.same(named) || !plain(here) {
		w.t.Errorf("%q, which is %s, was pinned as %s, which is at %s (%v)", text, named, here, real, err)
	}
	roots := w.policy.Allow
	if !m.Workspace {
		roots = slices.Concat(roots, w.policy.Read)
	}
	if !w.inside(here, roots) {
		w.t.Errorf("%q was pinned as %s, which is in no root", text, here)
	}
	if w.kept(here) || m.Workspace && (w.isRoot(here) || w.nested(here, w.root+"/allow/docs")) {
		w.t.Errorf("%q was pinned as %s, which is kept, a root itself or for reading", text, here)
	}
}

// checkRefused looks whether the kernel agrees with what a refusal says.
func (w *ground) checkRefused(refusal *delegation.Refusal, workspace, context string) {
	w.t.Helper()
	text, roots := workspace, w.policy.Allow
	if strings.HasPrefix(refusal.Field, "context_paths") {
		text, roots = context, slices.Concat(w.policy.Allow, w.policy.Read)
	}
	here := w.named(text)
	if text == "" || slices.Contains(strings.Split(text, "/"), "..") || !plain(here) {
		return
	}
	switch outside := strings.Contains(refusal.Text, " not in "); {
	case outside && w.inside(here, roots) && !strings.ContainsFunc(text, isControl):
		w.t.Errorf("%q is %s, inside a root, and was refused: %s", text, here, refusal.Text)
	case strings.Contains(refusal.Text, " is kept ") && !w.kept(here):
		w.t.Errorf("%q is %s, which is not kept, and was refused: %s", text, here, refusal.Hint)
	}
}

// isControl is for ASCII: nothing else that a tree has here is a control character.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// named is where a text of the parent's leads, as the watcher would write it, with every ".." still in it. The maps of a
// ground are few enough to be written out.
func (w *ground) named(text string) string {
	if !strings.HasPrefix(text, "/") {
		return w.policy.Dir + "/" + text
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "." })
	rest := func(n int) string { return "/" + strings.Join(parts[n:], "/") }
	switch {
	case len(parts) > 1 && parts[0] == "p" && parts[1] == "r":
		return w.root + "/read" + rest(2)
	case len(parts) > 0 && parts[0] == "p":
		return w.root + "/allow" + rest(1)
	case len(parts) > 0 && parts[0] == "outbox":
		return w.root + "/box" + rest(1)
	}
	return rest(0)
}

// inode is one thing, whatever its names are.
type inode struct{ dev, ino uint64 }

// plain says whether the kernel comes to a directory, or to a file with one name, without meeting a link.
func plain(path string) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && (st.Mode&unix.S_IFMT == unix.S_IFDIR || st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1)
}

// upwards are the thing at a path and every directory that holds it, by way of "..", for which the kernel needs no text.
func (w *ground) upwards(path string) (chain []inode) {
	w.t.Helper()
	var st unix.Stat_t
	must(w.t, unix.Stat(path, &st))
	chain = append(chain, inode{st.Dev, st.Ino})
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		path = filepath.Dir(path)
		must(w.t, unix.Stat(path, &st))
		chain = append(chain, inode{st.Dev, st.Ino})
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(w.t, err)
	for {
		up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(w.t, err, unix.Close(fd), unix.Fstat(up, &st))
		fd = up
		if chain[len(chain)-1] == (inode{st.Dev, st.Ino}) {
			must(w.t, unix.Close(fd))
			return chain
		}
		chain = append(chain, inode{st.Dev, st.Ino})
	}
}

func (w *ground) inside(path string, roots []compile.Root) bool {
	chain := w.upwards(path)
	return slices.ContainsFunc(roots, func(root compile.Root) bool { return slices.Contains(chain, w.upwards(string(root))[0]) })
}

func (w *ground) isRoot(path string) bool {
	at := w.upwards(path)[0]
	return slices.ContainsFunc(w.policy.Allow, func(root compile.Root) bool { return w.upwards(string(root))[0] == at })
}

// kept says whether a path is or holds the outbox, or is, holds or lies in a hidden place.
func (w *ground) kept(path string) bool {
	if slices.Contains(w.upwards(w.policy.Dir), w.upwards(path)[0]) {
		return true
	}
	return slices.ContainsFunc(w.policy.Hidden, func(hidden string) bool { return w.nested(path, hidden) })
}

// nested says whether one of two paths is or holds the other.
func (w *ground) nested(a, b string) bool {
	aroundA, aroundB := w.upwards(a), w.upwards(b)
	return slices.Contains(aroundA, aroundB[0]) || slices.Contains(aroundB, aroundA[0])
}
