package tree

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// part says where in a tree a directory lies, as far as that decides which of its entries are copied.
type part int

const (
	ordinary   part = iota // outside of git directories
	gitTop                 // a git directory itself
	gitObjects             // the objects of a git directory
	gitInside              // everything else in a git directory that is copied
)

// of returns the part in which a name of a directory lies. If take is false, the entry is left out; why gives the
// reason unless it is obvious.
//
// From a git directory it takes only a fixed list of history and state. Everything else stays behind: hooks, config,
// config.worktree, worktrees, modules, commondir, info, and anything that git may learn to obey later. So remotes and
// their passwords stay behind too. Alternates are named in the info directory of the objects, which is left out; git
// makes the other files there anew.
func (p part) of(name string) (next part, take bool, why string) {
	switch p {
	case gitTop:
		switch name {
		case "HEAD", "packed-refs", "index", "shallow", "refs":
			return gitInside, true, ""
		case "objects":
			return gitObjects, true, ""
		}
		return 0, false, ""
	case gitObjects:
		return gitInside, name != "info", ""
	case gitInside:
		return gitInside, true, ""
	}
	switch strings.ToLower(name) {
	case ".hg", ".jj", ".sl", ".bzr", ".svn", ".pijul", "_darcs":
		return 0, false, "its settings and hooks are not copied"
	}
	return ordinary, true, ""
}

// leadsAway returns why an entry that is not a directory is left out, or "". It leaves out a link in a git directory,
// and a .git that names another place.
func (p part) leadsAway(name string, link bool) string {
	if p == ordinary && strings.EqualFold(name, ".git") || p != ordinary && link {
		return "it leads to a git directory elsewhere"
	}
	return ""
}

// isGitDirectory reports whether git would take a directory for a git directory.
func isGitDirectory(fd int, name string) (bool, error) {
	if strings.EqualFold(name, ".git") {
		return true, nil
	}
	has := map[string]bool{}
	for _, part := range []string{"HEAD", "commondir", "objects", "refs"} {
		var st unix.Stat_t
		err := unix.Fstatat(fd, part, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
			return false, err
		}
		if has[part] = err == nil; !has["HEAD"] {
			return false, nil
		}
	}
	return has["HEAD"] && (has["commondir"] || has["objects"] && has["refs"]), nil
}

// writeGitSettings gives a copied git directory settings of its own.
func writeGitSettings(in int, name string) error {
	settings := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
	if strings.EqualFold(name, ".git") {
		settings = strings.Replace(settings, "bare = true", "bare = false", 1)
	}
	fd, err := unix.Openat(in, "config", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(settings))
	return err
}
