package outbox

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"torno/delegation"
)

// entries are requests that are no files, or not files for long.
var entries = []attempt{
	{
		Row: "O1", name: "a link to a secret", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Must(os.Symlink(s.c.secret, s.request())) }, naive: readsTheSecret,
	},
	{
		Row: "O1", name: "a link beside itself", code: delegation.CodeNotAFile,
		plant: func(s *scene) {
			s.Must(os.WriteFile(s.Path("o1-target"), s.body(nil), 0o644))
			s.Must(os.Symlink("o1-target", s.request()))
		},
		naive: func(s *scene) bool { // even os.Root follows a link that stays inside
			root, err := os.OpenRoot(s.Outbox)
			s.Must(err)
			defer root.Close()
			data, err := root.ReadFile("request_" + s.id + ".json")
			return err == nil && json.Valid(data)
		},
	},
	{
		Row: "O1", name: "a link in a circle", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Must(os.Symlink(s.request(), s.request())) }, naive: neverAnswers,
	},
	{
		Row: "O2", name: "a hard link to a secret", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Must(os.Link(s.c.secret, s.request())) }, naive: readsTheSecret,
	},
	{
		Row: "O3", name: "a named pipe", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Must(unix.Mkfifo(s.request(), 0o666)) }, naive: waits,
	},
	{
		Row: "O4", name: "a socket", code: delegation.CodeNotAFile,
		plant: func(s *scene) {
			listener, err := net.Listen("unix", filepath.Join(s.space, "s"))
			s.Must(err)
			s.Cleanup(func() { listener.Close() })
			s.Must(os.Rename(filepath.Join(s.space, "s"), s.request()))
		},
		naive: neverAnswers,
	},
	{
		Row: "O5", name: "a device without an end", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Must(unix.Mknod(s.request(), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))) },
		naive: readsOn,
	},
	{
		Row: "O6", name: "a directory", code: delegation.CodeNotAFile,
		plant: func(s *scene) { s.Mkdir(filepath.Join(s.request(), "x")) }, naive: neverAnswers,
	},
	{
		Row: "O7", name: "ten sparse gigabytes", code: delegation.CodeTooBig,
		plant: func(s *scene) {
			s.drop("o7-sparse", nil)
			s.Must(os.Truncate(s.Path("o7-sparse"), 10<<30))
			s.Must(os.Rename(s.Path("o7-sparse"), s.request()))
		},
		naive: readsOn,
	},
	{
		Row: "O8", name: "a file that grows while it is read", code: delegation.CodeTooBig,
		plant: func(s *scene) { s.grow(s.request(), `{"task":"`, strings.Repeat("x", 4<<10)) },
		naive: func(s *scene) bool { // looks at the size, and reads what is there by then
			const most = 1 << 20
			path := filepath.Join(s.space, "growing")
			s.Must(os.WriteFile(path, []byte("{"), 0o644))
			info, err := os.Stat(path)
			s.Must(err)
			s.Must(os.Truncate(path, 4*most))
			data, err := os.ReadFile(path)
			s.Must(err)
			return info.Size() < most && len(data) > most
		},
	},
	{
		Row: "O9", name: "a request that is copied in slowly",
		plant: func(s *scene) { s.written(s.body(says{"task": "echo whole"})) },
		judge: func(s *scene) {
			if got := s.ran(); got != "whole\n" {
				s.Errorf("it says %q", got)
			}
		},
		naive: halfIsNoJSON,
	},
	{
		Row: "O9", name: "half a request, and never the rest", code: delegation.CodeUnparsable,
		plant: func(s *scene) { s.Must(os.WriteFile(s.request(), s.body(nil)[:40], 0o644)) }, naive: halfIsNoJSON,
	},
}

// readsTheSecret opens any file with the name of a request.
func readsTheSecret(s *scene) bool {
	data, err := os.ReadFile(s.request())
	return err == nil && strings.Contains(string(data), canary)
}

// neverAnswers takes an entry that cannot be read for an entry that does not exist yet.
func neverAnswers(s *scene) bool {
	_, err := os.ReadFile(s.request())
	return err != nil
}

// readsOn reads to the end.
func readsOn(s *scene) bool {
	file, err := os.Open(s.request())
	s.Must(err)
	defer file.Close()
	n, err := io.CopyN(io.Discard, file, 32<<20)
	return err == nil && n == 32<<20
}

// waits opens a pipe: that it can be opened for writing shows that a reader waits.
func waits(s *scene) bool {
	read := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(s.request())
		read <- err
	}()
	var writer int
	s.Eventually("somebody waits", func() (ok bool) {
		var err error
		writer, err = unix.Open(s.request(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil
	})
	waited := len(read) == 0
	s.Must(unix.Close(writer))
	s.Must(<-read)
	return waited
}

func halfIsNoJSON(s *scene) bool {
	whole := s.body(nil)
	return json.Valid(whole) && !json.Valid(whole[:len(whole)/2])
}

// grow appends to a file, each piece onto the disk, until it is far over what a request may have.
func (s *scene) grow(path, begin, piece string) {
	file, err := os.Create(path)
	s.Must(err)
	done := make(chan error, 1)
	go func() {
		_, err := file.WriteString(begin)
		for n := 0; err == nil && n < 8<<20; n += len(piece) {
			_, err = file.WriteString(piece)
			err = errors.Join(err, file.Sync())
		}
		done <- errors.Join(err, file.Close())
	}()
	s.Cleanup(func() { s.Must(<-done) })
}

// written writes a request in pieces, each of which reaches the disk before the next.
func (s *scene) written(body []byte) {
	file, err := os.Create(s.request())
	s.Must(err)
	defer file.Close()
	for len(body) > 0 {
		n := min(5, len(body))
		_, err := file.Write(body[:n])
		s.Must(err)
		s.Must(file.Sync())
		body = body[n:]
	}
}
