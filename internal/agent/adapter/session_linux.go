package adapter

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

// keeper remembers which bundles of the agent's session were sent.
type keeper struct {
	bundles int
	told    int64    // bytes sent so far
	last    [32]byte // a digest of the last bundle
}

const (
	lastBundle = agent.MaxBundle // bytes kept free for the last bundle
	maxTold    = 64 << 20
)

// directory returns the directory that holds the agent's sessions.
func (s sessions) directory() string {
	if s.here {
		return "."
	}
	return cmp.Or(os.Getenv(s.variable), filepath.Join(cmp.Or(os.Getenv("HOME"), "/"), s.fallback))
}

// openRoot opens a directory. It never waits, whatever lies under that name.
func openRoot(dir string) (*os.Root, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// resume unpacks the session that the agent is to go on with, into the agent's directory.
func (r *run) resume() error {
	if r.session == "" {
		return nil
	}
	file, err := os.Open(r.session)
	if err != nil {
		return err
	}
	defer file.Close()
	m, files, err := open(file)
	if err != nil {
		return err
	}
	if m.Agent != r.kind.name {
		return fmt.Errorf("it is a session of %.40q", m.Agent)
	}
	dir := r.kind.sessions.directory()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := openRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unpack(files, root, r.kind.sessions.tree); err != nil {
		return err
	}
	r.memory.session = session{id: m.Session, earlier: cmp.Or(m.Version, "an unknown version"), spent: m.Spent}
	return nil
}

// args returns the agent's arguments.
func (r *run) args() []string {
	args := r.given.add(r.kind.args(r.model, os.Getenv))
	if id := r.memory.session.id; id != "" {
		return r.kind.sessions.resume(args, id)
	}
	return args
}

// keepSession sends the agent's session, unless the same was already sent. At the end of a turn it leaves room for the
// last bundle.
func (r *run) keepSession(last bool) {
	k, s := &r.keeper, r.memory.session
	if !isSessionID(s.id) || s.earlier != "" && !r.memory.spoke || // the kept session is as good
		k.bundles == agent.MaxBundles || !last && (k.bundles == agent.MaxBundles-1 || k.told > maxTold-lastBundle) {
		return
	}
	data, version, err := r.pack(s)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !last:
		return // the agent has not written it yet
	case err != nil:
		why := fmt.Sprintf("the session of %s is not kept: %v", r.kind.name, err)
		if last {
			r.out.tell(notice(why))
		}
		return
	}
	if sum := sha256.Sum256(data); sum != k.last {
		k.last = sum
		k.bundles++
		k.told += int64(len(data))
		r.out.tell(partsOf(k.bundles, data, version))
	}
}

// pack makes a bundle of the agent's session.
func (r *run) pack(s session) (data []byte, version string, err error) {
	root, err := openRoot(r.kind.sessions.directory())
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	files := r.kind.sessions.files(root, s.id)
	if len(files) == 0 {
		return nil, "", fmt.Errorf("its file: %w", fs.ErrNotExist)
	}
	version = s.version
	if r.kind.sessions.version != nil {
		version = r.kind.sessions.version(root, files[0])
	}
	version = printable(cmp.Or(version, s.earlier))
	data, err = pack(root, manifest{Form: bundleForm, Agent: r.kind.name, Version: version, Session: s.id, Spent: s.spent}, files)
	return data, version, err
}

// partsOf returns the lines of a bundle.
func partsOf(bundle int, data []byte, version string) (lines []agent.Line) {
	for offset := 0; offset < len(data); {
		part := agent.Part{Bundle: bundle, Offset: int64(offset), Data: data[offset:min(len(data), offset+agent.MaxPart)]}
		offset += len(part.Data)
		if part.Last = offset == len(data); part.Last {
			part.Version = version
		}
		lines = append(lines, agent.Line{Kind: agent.Session, Part: &part})
	}
	return lines
}

// printable returns a version in the form that a line may have; "" if it has other characters.
func printable(version string) string {
	version = version[:min(len(version), 64)]
	if bytes.ContainsFunc([]byte(version), func(c rune) bool { return c < '!' || c > '~' }) {
		return ""
	}
	return version
}

// cannotGoOn explains why a session was not taken up, and says how to go on.
func (r *run) cannotGoOn(err error) string {
	return fmt.Sprintf("the session cannot be continued: %v; ask again without a session: the workspace is still there", err)
}

// lostSession returns a note about an agent that was to go on with a session but failed before it said anything: this
// version of the agent may be at fault. Otherwise it returns "".
func (r *run) lostSession() string {
	s := r.memory.session
	if s.earlier == "" || r.memory.spoke {
		return ""
	}
	return fmt.Sprintf("; it was told to continue a session that %s %s had kept, and this version may not be able to do that: "+
		"ask again without the session, or ask the operator to install the version that kept it", r.kind.name, s.earlier)
}
