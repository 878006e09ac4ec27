package delegation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzDir plants one entry of any type under any name, among files of the parent's own, and then does what the host does.
// The kernel says what is true: what is read is a regular file with one name, beneath the outbox, without a link; nothing
// else is refused; and what is published lies in the outbox and changes nothing beside it.
func FuzzDir(f *testing.F) {
	for kind := range uint8(planted) {
		f.Add(kind, "request_s1.json", []byte("{}"), int64(1024))
		f.Add(kind, "response_s1.json", []byte("x"), int64(0))
	}
	for i := 0; i < len(hostileIDs); i += 3 {
		f.Add(uint8(i), []string{"", "cancel_"}[i%2]+hostileIDs[i], []byte("x"), int64(i))
	}
	for _, name := range []string{"/etc/passwd", "../secret", "own/secret", "./x", "x/", ".torno-1", "response_/../../secret.json"} {
		f.Add(uint8(0), name, []byte("x"), int64(64))
	}
	f.Fuzz(func(t *testing.T, kind uint8, name string, data []byte, most int64) {
		p := newParent(t)
		p.plant(kind%planted, name, data)
		p.checkRead(name, data, most)
		p.checkPublish(name, data)
		if secret, err := os.ReadFile(p.secret); err != nil || string(secret) != theSecret {
			t.Errorf("the parent's own file is %q, %v", secret, err)
		}
	})
}

const theSecret = "another's key"

// parent is an outbox with the parent's own files beside it.
type parent struct {
	t           *testing.T
	box, secret string
	dir         *Dir
}

func newParent(t *testing.T) *parent {
	root := t.TempDir()
	p := &parent{t: t, box: filepath.Join(root, "box"), secret: filepath.Join(root, "own/secret")}
	err := errors.Join(os.Mkdir(p.box, 0o755), os.Mkdir(filepath.Dir(p.secret), 0o755), os.WriteFile(p.secret, []byte(theSecret), 0o600),
		os.Symlink(filepath.Dir(p.secret), filepath.Join(p.box, "own")))
	if err != nil {
		t.Fatal(err)
	}
	if p.dir, err = OpenDir(p.box); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.dir.Close() })
	return p
}

// planted is how many kinds of entries plant knows.
const planted = 9

// plant makes an entry, as far as the kernel lets its name pass for one of the outbox.
func (p *parent) plant(kind uint8, name string, data []byte) {
	path := p.box + "/" + name
	if checkName(name) != nil {
		return
	}
	switch kind {
	case 0:
		os.WriteFile(path, data, 0o600)
	case 1:
		os.Symlink(p.secret, path)
	case 2:
		os.Symlink("own/secret", path)
	case 3:
		os.Symlink(name, path)
	case 4:
		os.Link(p.secret, path)
	case 5:
		unix.Mkfifo(path, 0o600)
	case 6:
		os.Mkdir(path, 0o755)
	case 7:
		os.WriteFile(path, data, 0o600)
		os.Truncate(path, 10<<30)
	}
}

// checkRead compares with a lookup that the kernel does in one piece.
func (p *parent) checkRead(name string, want []byte, most int64) {
	p.t.Helper()
	got, stamp, err := p.dir.Read(name, most)
	st, good := p.regular(name)
	good = good && st.Nlink == 1 && st.Size <= most
	switch {
	case good != (err == nil):
		p.t.Errorf("%q is good: %t, and reading it says %v", name, good, err)
	case err == nil && (!bytes.Equal(got, want) || stamp.Ino != st.Ino || stamp.Size != int64(len(got))):
		p.t.Errorf("%q is read as %q of %+v", name, got, stamp)
	}
}

// regular looks a name up beneath the outbox, without links of any kind.
func (p *parent) regular(name string) (st unix.Stat_t, ok bool) {
	how := unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(p.dir.fd(), name, &how)
	if err != nil {
		return st, false
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// checkPublish: afterwards the name is a file of its own with the data, or nothing has changed.
func (p *parent) checkPublish(name string, data []byte) {
	p.t.Helper()
	before := p.names()
	if err := p.dir.Publish(name, data); err != nil {
		if checkName(name) == nil && !errors.Is(err, ErrDirectory) {
			p.t.Errorf("%q cannot be published: %v", name, err)
		}
		if after := p.names(); len(after) != len(before) {
			p.t.Errorf("%q was not published, and there are %v", name, after)
		}
		return
	}
	got, _, err := p.dir.Read(name, int64(len(data)))
	if err != nil || !bytes.Equal(got, data) {
		p.t.Errorf("%q was published and is %q, %v", name, got, err)
	}
	before[name] = true
	if after := p.names(); len(after) != len(before) || !after[name] {
		p.t.Errorf("%q was published, and there are %v instead of %v", name, after, before)
	}
}

// names are the entries of the outbox.
func (p *parent) names() map[string]bool {
	p.t.Helper()
	entries, err := os.ReadDir(p.box)
	if err != nil {
		p.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	return names
}
