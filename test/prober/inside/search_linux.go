package inside

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Search looks for secrets wherever an agent may look: in every name, link and file that it can read, those of the kernel
// and open ones without a name among them, and in the memory of each process that it may read.
func Search(secrets []Secret) (Found, error) {
	s := &search{matcher: newMatcher(secrets), part: make([]byte, 1<<20)}
	s.found.Places = map[string][]string{}
	for i, word := range os.Environ() {
		s.look("its own environment "+strconv.Itoa(i), []byte(word))
	}
	if err := filepath.WalkDir("/", s.visit); err != nil {
		return s.found, err
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return s.found, err
	}
	for _, dir := range processes {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			s.process(pid)
		}
	}
	return s.found, nil
}

type search struct {
	*matcher
	found Found
	part  []byte // what is read into, again and again
}

// look looks into bytes that are at a place.
func (s *search) look(place string, data []byte) {
	s.in(data, func(name string) {
		if !slices.Contains(s.found.Places[name], place) {
			s.found.Places[name] = append(s.found.Places[name], place)
		}
	})
}

// visit looks at a name, and at what is behind it. A directory that cannot be read has nothing to find.
func (s *search) visit(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		s.found.Unreadable++
		return nil //nolint:nilerr // it is counted
	}
	s.look("the name "+path, []byte(path))
	switch {
	case isAgain(path):
		return fs.SkipDir
	case strings.HasPrefix(path, "/proc/") && (entry.Name() == "mem" || entry.Name() == "pagemap"): // memory has its own look; the other has no end
	case entry.Type()&fs.ModeSymlink != 0:
		s.link(path)
	case entry.Type().IsRegular():
		s.file(path)
	}
	return nil
}

// isAgain says whether a directory has what another one has: each thread has its process's files.
func isAgain(path string) bool {
	return strings.HasPrefix(path, "/proc/") && (strings.HasSuffix(path, "/task") || path == "/proc/self" || path == "/proc/thread-self")
}

// link looks at where a link leads. Behind one of an open file is a file that may have no other name.
func (s *search) link(path string) {
	target, err := os.Readlink(path)
	if err != nil {
		s.found.Unreadable++
		return
	}
	s.look("the link "+path, []byte(target))
	if strings.HasPrefix(path, "/proc/") && filepath.Base(filepath.Dir(path)) == "fd" {
		s.file(path)
	}
}

// file looks through a file, if it is one. It waits for no writer.
func (s *search) file(path string) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		s.found.Unreadable++
		return
	}
	defer f.Close()
	if s.through("the file "+path, f) {
		s.found.Files++
		return
	}
	s.found.Unreadable++
}

// through looks at everything that comes, and says whether that was all.
func (s *search) through(place string, from io.Reader) bool {
	kept := 0 // bytes of the part before, in which a secret may have begun
	for {
		n, err := from.Read(s.part[kept:])
		s.found.Bytes += int64(n)
		s.look(place, s.part[:kept+n])
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		from := max(0, kept+n-s.longest+1)
		kept = copy(s.part, s.part[from:kept+n])
	}
}

// process looks through what a process has in memory, where it may.
func (s *search) process(pid int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	maps, err := os.ReadFile(filepath.Join(dir, "maps"))
	memory, errMemory := os.Open(filepath.Join(dir, "mem"))
	if err != nil || errMemory != nil {
		s.found.Closed = append(s.found.Closed, pid)
		return
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		s.region(pid, memory, line)
	}
	s.found.Memories = append(s.found.Memories, pid)
}

// region looks through a mapping, such as "7f00-7f80 r--p …". One that the kernel does not show has no bytes.
func (s *search) region(pid int, memory *os.File, line string) {
	addresses, rest, _ := strings.Cut(line, " ")
	begin, end, _ := strings.Cut(addresses, "-")
	from, err := strconv.ParseUint(begin, 16, 63)
	to, errTo := strconv.ParseUint(end, 16, 63)
	if err != nil || errTo != nil || !strings.HasPrefix(rest, "r") {
		return
	}
	s.through("the memory of "+strconv.Itoa(pid), io.NewSectionReader(memory, int64(from), int64(to-from)))
}
