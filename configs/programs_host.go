package configs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"torno/internal/paths"
	"torno/internal/trust"
	"torno/sandbox/compile"
)

// checkProgramsHere looks at a profile's programs on this machine.
func checkProgramsHere(r *report, p *compile.Profile, homes []home) {
	for i, given := range p.Programs {
		at := fmt.Sprintf("profiles.%s.programs[%d]", p.Name, i)
		info, err := os.Lstat(given.Host)
		if err != nil {
			r.problem(at, "cannot be looked at: %v", err)
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			r.problem(at, "%s is a link%s; links are not followed", given.Host, leadsTo(given.Host))
			continue
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			r.problem(at, "%s is neither a directory nor a file", given.Host)
			continue
		}
		if why := holdsKeys(given.Host, info, homes); why != "" {
			r.problem(at, "%s %s", given.Host, why)
			continue
		}
		if err := trust.Places().Check(given.Host); err != nil {
			r.problem(at, "%v; put programs where only root and the watcher's user may write, and name them without links", err)
			continue
		}
		warnClosed(r, at, given.Host, info)
	}
}

func leadsTo(link string) string {
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		return ""
	}
	return " to " + real + ": name that, or the directory that holds both"
}

// holdsKeys returns why a place looks like a user's home directory or seems to hold keys, or "" if it does not.
func holdsKeys(host string, info fs.FileInfo, homes []home) string {
	for _, h := range homes {
		if there, err := os.Stat(h.dir); err == nil && os.SameFile(info, there) || paths.Within(host, h.dir) {
			return "is or holds the home directory of " + h.user + "; name the directory of the programs in it"
		}
	}
	if !info.IsDir() {
		return ""
	}
	for _, name := range slices.Concat(keyFiles, keyDirs, homeFiles) {
		if _, err := os.Lstat(filepath.Join(host, name)); err == nil {
			return "holds " + name + ", as a user's own directory does; name the directory of the programs alone"
		}
	}
	return ""
}

// warnClosed warns of programs that are closed to other users. A child runs as another user than their owner, except
// that an ordinary user's watcher runs its children as itself.
func warnClosed(r *report, at, host string, info fs.FileInfo) {
	owner := info.Sys().(*syscall.Stat_t).Uid
	if we := os.Geteuid(); we != 0 && owner == uint32(we) {
		return
	}
	if mode := info.Mode().Perm(); mode&0o005 != 0o005 {
		r.warn(at, "%s is closed to other users (mode %04o), and so to children; run: chmod -R o+rX %s", host, mode, host)
	}
}

// home is the home directory of a user of this machine.
type home struct{ user, dir string }

// homesIn returns the homes of root and of people, from a file in the format of /etc/passwd. It leaves out the homes of
// services.
func homesIn(passwd string) (homes []home) {
	eachRecord(passwd, func(name string, fields []string) {
		if len(fields) < 5 {
			return
		}
		uid, err := strconv.ParseUint(fields[1], 10, 32)
		if people := uid == 0 || uid >= 1000 && uid != 65534; err == nil && people && isTidy(fields[4]) && fields[4] != "/" {
			homes = append(homes, home{name, fields[4]})
		}
	})
	return homes
}

// allHomes returns the homes of this machine's users and of the watcher's user.
func allHomes() []home {
	homes := homesIn("/etc/passwd")
	if own, err := os.UserHomeDir(); err == nil && isTidy(own) && own != "/" {
		homes = append(homes, home{"the watcher's user", own})
	}
	return homes
}

// warnHidden warns of a command that this machine has and children do not see. Children do not see the directories in
// which people install agents and tools, unless the profile names them.
func warnHidden(r *report, p *compile.Profile) {
	if !p.RootFS.Host || len(p.Command) == 0 {
		return
	}
	name := p.Command[0]
	at := fmt.Sprintf("profiles.%s.command[0]", p.Name)
	if filepath.IsAbs(name) {
		if whereHere(p, name) == "" && isProgram(name) {
			r.warn(at, "%s is on this machine, and children do not see it; write programs: [%s]", name, suggestedPrograms(name))
		}
		return
	}
	if strings.Contains(name, "/") || slices.ContainsFunc(commandHere(p, name), isProgram) {
		return
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if found := filepath.Join(dir, name); filepath.IsAbs(dir) && isProgram(found) {
			r.warn(at, "%s is %s on this machine, and children do not see it; write programs: [%s]", name, found, suggestedPrograms(found))
			return
		}
	}
}

func isProgram(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// suggestedPrograms returns an entry for the key programs that shows a program with everything that it needs. If the
// directory around its bin is an installation of its own and holds the real file, it is that directory; otherwise it is
// the real file.
func suggestedPrograms(found string) string {
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		real = found
	}
	around := filepath.Dir(filepath.Dir(found))
	own := filepath.Base(filepath.Dir(found)) == "bin" && strings.Count(around, "/") >= 2 && filepath.Base(around) != ".local"
	if own && paths.Within(around, real) {
		return around
	}
	if real == found {
		return found
	}
	return fmt.Sprintf("{host: %s, as: /usr/local/bin/%s}", real, filepath.Base(found))
}
