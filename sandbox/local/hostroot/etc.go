package hostroot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
)

// hostEtc lists the files of the host's /etc that a child sees, if they exist and every user of the host may read them.
// They tell how to find libraries and programs and which certificates to trust, or hold names that are the same
// everywhere.
var hostEtc = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem",
	"pki/ca-trust/extracted", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "os-release", "protocols", "services", "mime.types",
}

// Hostname is the host name in every sandbox: a child need not know the host's name.
const Hostname = "sandbox"

// ourEtc holds the files that are the same in every sandbox. There is no name service and no network.
var ourEtc = map[string]string{
	"hostname":      Hostname + "\n",
	"hosts":         "127.0.0.1\tlocalhost " + Hostname + "\n::1\tlocalhost ip6-localhost ip6-loopback\n",
	"resolv.conf":   "# A sandbox has no network and no name server.\n",
	"nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\nprotocols: files\nservices: files\n",
}

// UserDir is the part of the run directory for the files of /etc that differ between sandboxes.
const UserDir = "etc"

// UserEtc returns these files by name: they hold the only user and the only group.
func UserEtc(uid, gid uint32) map[string]string {
	return map[string]string{
		"passwd": fmt.Sprintf("agent:x:%d:%d:agent:%s:/bin/sh\n", uid, gid, sandbox.Home),
		"group":  fmt.Sprintf("agent:x:%d:\n", gid),
	}
}

// ImageEtc returns the files of our /etc that cover an image's files. The files of UserEtc cover an image's files too.
func ImageEtc() []string { return []string{"hostname", "hosts", "resolv.conf"} }

// These bounds limit how much is copied from the host's /etc.
const (
	maxEtcFile  = 16 << 20
	maxEtcTotal = 64 << 20
)

// layEtc makes a directory beneath dir that stands for /etc in sandboxes with the host's programs, and returns its
// path. The directory is named after its content: sandboxes from before a restart may still see an older one.
//
// If a start finds its content already laid, it writes nothing, because making some hundred links takes a good part of
// a second on a slow file system. It trusts an existing directory only after reading it: a power cut can leave a
// directory that has the right name but lacks files. So nothing needs to be flushed. Only one watcher at a time works
// in dir.
func layEtc(hostRoot, dir string) (string, error) {
	from := filepath.Join(hostRoot, "etc")
	s := &etcTree{from: from, sum: sha256.New()}
	if err := s.fill(); err != nil {
		return "", fmt.Errorf("read the host's files for the /etc of sandboxes: %w", err)
	}
	if isLaid(s.place(dir)) {
		return s.place(dir), nil
	}
	next := filepath.Join(dir, ".etc-next")
	if err := errors.Join(os.RemoveAll(next), os.Mkdir(next, 0o700)); err != nil { // a start that was killed may have left it
		return "", fmt.Errorf("lay the /etc of sandboxes: %w", err)
	}
	s = &etcTree{from: from, to: next, sum: sha256.New()} // the host's files may have changed: sum up anew
	err := s.fill()
	if err == nil && !isLaid(s.place(dir)) {
		err = errors.Join(os.RemoveAll(s.place(dir)), os.Rename(next, s.place(dir)))
	}
	if err := errors.Join(err, os.RemoveAll(next)); err != nil { // does nothing after the rename
		return "", fmt.Errorf("lay the /etc of sandboxes: %w", err)
	}
	return s.place(dir), nil
}

// isLaid reports whether a directory has the content that its name stands for.
func isLaid(place string) bool {
	laid := &etcTree{from: place, sum: sha256.New()}
	err := laid.copyAll(hostEtc, slices.Sorted(maps.Keys(ourEtc)), slices.Sorted(maps.Keys(UserEtc(0, 0))))
	return err == nil && laid.place(filepath.Dir(place)) == place
}

// etcTree copies a tree. If to is "", it only reads. sum covers everything that it has read and written.
type etcTree struct {
	from, to string
	sum      hash.Hash
	total    int64
}

// place returns the path, beneath dir, of a tree with this sum.
func (s *etcTree) place(dir string) string {
	return filepath.Join(dir, "etc-"+hex.EncodeToString(s.sum.Sum(nil)[:8]))
}

func (s *etcTree) fill() error {
	if s.to != "" {
		if err := os.Chmod(s.to, 0o755); err != nil {
			return err
		}
	}
	if err := s.copyAll(hostEtc); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(ourEtc)) {
		if err := s.write(name, strings.NewReader(ourEtc[name])); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(UserEtc(0, 0))) {
		if err := s.link(name, filepath.Join(runfile.Dir, UserDir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *etcTree) copyAll(lists ...[]string) error {
	for _, name := range slices.Concat(lists...) {
		if err := s.copy(name); err != nil {
			return err
		}
	}
	return nil
}

// copy copies a file, a directory, or a link as a link. Files that other users may not read on the host are left out.
func (s *etcTree) copy(name string) error {
	info, err := os.Lstat(filepath.Join(s.from, name))
	switch {
	case err != nil:
		return ignore(err, fs.ErrNotExist)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(filepath.Join(s.from, name))
		if err != nil {
			return err
		}
		return s.link(name, target)
	case info.IsDir() && info.Mode()&0o005 == 0o005:
		return s.copyDir(name)
	case info.Mode().IsRegular() && info.Mode()&0o004 != 0 && info.Size() <= maxEtcFile:
		return s.copyFile(name)
	}
	return nil
}

func (s *etcTree) copyDir(name string) error {
	entries, err := os.ReadDir(filepath.Join(s.from, name))
	if err != nil {
		return err
	}
	if err := s.makeDir(name); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.copy(filepath.Join(name, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (s *etcTree) copyFile(name string) error {
	file, err := os.Open(filepath.Join(s.from, name))
	if err != nil {
		return err
	}
	defer file.Close()
	return s.write(name, io.LimitReader(file, maxEtcFile))
}

func (s *etcTree) write(name string, content io.Reader) error {
	if err := s.makeDir(filepath.Dir(name)); err != nil {
		return err
	}
	fmt.Fprintf(s.sum, "file %s\n", name)
	if s.to == "" {
		return s.pour(s.sum, content)
	}
	file, err := os.OpenFile(filepath.Join(s.to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = s.pour(io.MultiWriter(file, s.sum), content)
	return errors.Join(err, file.Chmod(0o644), file.Close())
}

// pour copies the content of a file.
func (s *etcTree) pour(to io.Writer, content io.Reader) error {
	n, err := io.Copy(to, content)
	if s.total += n; s.total > maxEtcTotal {
		err = errors.Join(err, fmt.Errorf("the host's files are over %d MiB", maxEtcTotal>>20))
	}
	return err
}

func (s *etcTree) link(name, target string) error {
	if err := s.makeDir(filepath.Dir(name)); err != nil {
		return err
	}
	fmt.Fprintf(s.sum, "link %s %s\n", name, target)
	if s.to == "" {
		return nil
	}
	return os.Symlink(target, filepath.Join(s.to, name))
}

// makeDir makes a directory and everything above it, open to all users whatever our umask is.
func (s *etcTree) makeDir(name string) error {
	if name == "." {
		return nil
	}
	if err := s.makeDir(filepath.Dir(name)); err != nil {
		return err
	}
	fmt.Fprintf(s.sum, "dir %s\n", name)
	if s.to == "" {
		return nil
	}
	path := filepath.Join(s.to, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return ignore(err, fs.ErrExist)
	}
	return os.Chmod(path, 0o755)
}

// ignore returns nil for errors of one kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
