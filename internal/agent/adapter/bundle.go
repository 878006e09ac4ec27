package adapter

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"torno/internal/agent"
)

// A bundle holds everything that an agent needs to go on, compressed with gzip. First comes the manifest, as a line of
// JSON. Then comes, for each file, a line with its name and size, followed by its bytes. The earlier agent wrote the
// bundle, and may have been hostile. So the bundle is opened with the rights of the next agent, and it can put nothing
// anywhere except files below that agent's own directory of sessions.
const (
	bundleForm     = 1
	maxUnpacked    = 64 << 20 // bytes of all files
	maxSessionFile = 1000     // files in a bundle, and directory entries that are looked at to find them
	maxHeader      = 4096
	maxDepth       = 8
)

// manifest is the first line of a bundle.
type manifest struct {
	Form    int          `json:"torno_session"`
	Agent   string       `json:"agent"`
	Version string       `json:"version,omitempty"` // of the agent
	Session string       `json:"session"`           // the agent's own name for it
	Spent   agent.Tokens `json:"spent"`             // in all turns, if the agent keeps counting from turn to turn
}

// sessions describes where an agent keeps its sessions, and how the adapter tells it to go on with one.
type sessions struct {
	variable, fallback string // the directory: from this variable, or else this name below the home
	here               bool   // the directory is the agent's working directory
	tree               string // the directory within it that holds sessions
	files              func(root *os.Root, session string) []string
	version            func(root *os.Root, file string) string // that wrote a session's file; nil if the agent says it
	resume             func(args []string, session string) []string
}

// session holds the facts that an agent's parser knows about the conversation.
type session struct {
	id, version string
	earlier     string       // the agent's version in the bundle; "" for a new conversation
	spent       agent.Tokens // in all turns, if the agent keeps counting from turn to turn
}

type bundledFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// isSessionID reports whether a text may be an agent's name for a session. The text becomes an argument and a part of
// file names.
func isSessionID(text string) bool {
	if text == "" || len(text) > 64 || text[0] == '-' {
		return false
	}
	for _, c := range []byte(text) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// isBundled reports whether a bundle may contain a file of this name. The file must lie in the agent's directory of
// sessions.
func isBundled(name, tree string) bool {
	steps := strings.Split(name, "/")
	return fs.ValidPath(name) && len(name) <= 1024 && steps[0] == tree && len(steps) > 1 && len(steps) <= maxDepth && !strings.ContainsRune(name, 0)
}

// errTooLong says that a session does not fit into a bundle.
var errTooLong = errors.New("it is too long")

// bounded is a buffer that refuses to grow beyond its bound.
type bounded struct {
	bytes.Buffer

	most int
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.Len()+len(data) > b.most {
		return 0, fmt.Errorf("%w: packed it has more than %d bytes", errTooLong, b.most)
	}
	return b.Buffer.Write(data)
}

// pack makes a bundle of files. The first file is needed. pack leaves out any other file for which there is no room.
func pack(root *os.Root, m manifest, names []string) ([]byte, error) {
	out := &bounded{most: agent.MaxBundle}
	packed, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err == nil {
		err = writeHeader(packed, m)
	}
	room := int64(maxUnpacked)
	for i, name := range names {
		if err != nil {
			break
		}
		var size int64
		size, err = packFile(packed, root, name, room)
		if i > 0 && errors.Is(err, errTooLong) && out.Len() < out.most/2 {
			err = nil // nothing of this file was written
		}
		room -= size
	}
	if err == nil {
		err = packed.Close()
	}
	return out.Bytes(), err
}

func writeHeader(to io.Writer, header any) error {
	line, err := json.Marshal(header)
	if err == nil {
		_, err = to.Write(append(line, '\n'))
	}
	return err
}

// packFile adds a regular file. If the agent is writing the file just now, packFile takes only its whole lines.
func packFile(to io.Writer, root *os.Root, name string, room int64) (int64, error) {
	file, err := openRegular(root, name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := wholeLines(file, name)
	switch {
	case err != nil:
		return 0, err
	case size > room:
		return 0, fmt.Errorf("%w: its files have more than %d bytes", errTooLong, maxUnpacked)
	}
	if err := writeHeader(to, bundledFile{name, size}); err != nil {
		return 0, err
	}
	_, err = io.CopyN(to, file, size)
	return size, err
}

// openRegular opens a regular file. It never waits, whatever lies under that name.
func openRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// lastLines bounds how far before the end of a file wholeLines looks for the last newline, in bytes.
const lastLines = 64 << 10

// wholeLines returns how many bytes of a .jsonl file are whole lines. For any other file it returns the size.
func wholeLines(file *os.File, name string) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if !strings.HasSuffix(name, ".jsonl") {
		return info.Size(), nil
	}
	begin := max(0, info.Size()-lastLines)
	tail := make([]byte, info.Size()-begin)
	if _, err := file.ReadAt(tail, begin); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if i := bytes.LastIndexByte(tail, '\n'); i >= 0 {
		return begin + int64(i) + 1, nil
	}
	return info.Size(), nil
}

// open reads the manifest of a bundle, and returns a reader of its files.
func open(from io.Reader) (m manifest, files *bufio.Reader, err error) {
	unpacked, err := gzip.NewReader(from)
	if err != nil {
		return m, nil, err
	}
	files = bufio.NewReaderSize(io.LimitReader(unpacked, maxUnpacked+maxSessionFile*maxHeader), maxHeader)
	if err := readHeader(files, &m); err != nil {
		return m, nil, err
	}
	if m.Form != bundleForm {
		return m, nil, fmt.Errorf("its form is %d; this adapter reads only form %d", m.Form, bundleForm)
	}
	if !isSessionID(m.Session) {
		return m, nil, fmt.Errorf("%.40q is not the name of a session", m.Session)
	}
	m.Version = name(m.Version)
	return m, files, nil
}

// unpack writes the files of a bundle below a directory.
func unpack(files *bufio.Reader, root *os.Root, tree string) error {
	left := int64(maxUnpacked)
	for n := 0; ; n++ {
		var f bundledFile
		err := readHeader(files, &f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case err != nil:
			return err
		case n == maxSessionFile || f.Size < 0 || f.Size > left:
			return errors.New("it has too many files, or files that are too large")
		case !isBundled(f.Name, tree):
			return fmt.Errorf("a session has no file %.100q", f.Name)
		}
		left -= f.Size
		if err := unpackFile(files, root, f); err != nil {
			return err
		}
	}
}

func unpackFile(from io.Reader, root *os.Root, f bundledFile) error {
	if dir := strings.LastIndexByte(f.Name, '/'); dir > 0 {
		if err := root.MkdirAll(f.Name[:dir], 0o700); err != nil {
			return err
		}
	}
	if err := root.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, from, f.Size)
	return errors.Join(err, file.Close())
}

// readHeader reads one line of JSON. It returns io.EOF if nothing follows.
func readHeader(from *bufio.Reader, into any) error {
	line, err := from.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return io.EOF
	}
	if err != nil {
		return fmt.Errorf("one of its lines is too long or incomplete: %w", err)
	}
	return json.Unmarshal(line, into)
}

// claudeFiles returns the files of a Claude Code session: its transcript, and the files that its subagents and tools
// left beside it.
func claudeFiles(root *os.Root, session string) []string {
	projects := entries(root, "projects")
	for _, project := range projects {
		main := "projects/" + project + "/" + session + ".jsonl"
		if info, err := root.Lstat(main); err != nil || !info.Mode().IsRegular() {
			continue
		}
		beside := walk(root, "projects/"+project+"/"+session, func(string) bool { return true })
		return append([]string{main}, beside...)
	}
	return nil
}

// codexFiles returns the file of a Codex session.
func codexFiles(root *os.Root, session string) []string {
	found := walk(root, "sessions", func(name string) bool {
		return strings.HasPrefix(name, "rollout-") && strings.HasSuffix(name, "-"+session+".jsonl")
	})
	return found[:min(1, len(found))]
}

// entries returns the names in a directory, up to a bound.
func entries(root *os.Root, name string) []string {
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxSessionFile) // after an error, use the names that were read
	slices.Sort(names)
	return names
}

// walk returns the wanted regular files below a directory. It looks at a bounded number of entries.
func walk(root *os.Root, top string, wanted func(name string) bool) (found []string) {
	dirs, looked := []string{top}, 0
	for len(dirs) > 0 && looked < maxSessionFile {
		dir := dirs[0]
		dirs = dirs[1:]
		for _, name := range entries(root, dir) {
			looked++
			path := dir + "/" + name
			info, err := root.Lstat(path)
			switch {
			case err != nil:
			case info.IsDir() && strings.Count(path, "/") < maxDepth-1:
				dirs = append(dirs, path)
			case info.Mode().IsRegular() && wanted(name):
				found = append(found, path)
			}
		}
	}
	return found
}

// rolloutVersion returns the version of Codex that began a session's file.
func rolloutVersion(root *os.Root, name string) string {
	file, err := openRegular(root, name)
	if err != nil {
		return ""
	}
	defer file.Close()
	first := make([]byte, 1<<20)
	n, _ := file.Read(first) // nothing is known of an unreadable file
	line, _, _ := bytes.Cut(first[:n], []byte("\n"))
	var begin struct {
		Payload struct {
			Version loose[string] `json:"cli_version"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &begin) != nil {
		return ""
	}
	return begin.Payload.Version.v
}
