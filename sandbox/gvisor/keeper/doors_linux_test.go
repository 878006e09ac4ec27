package keeper

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/missing"
)

// The users of these tests: the gateway's, the sandbox's, and that of a service of the host's.
const gatewayUser, sandboxUser, serviceUser = 2_000_065_537, 2_000_000_042, 2_000_070_000

// as does something as a user.
func as(t *testing.T, user uint32, do func() error) {
	t.Helper()
	if err := (&passage{Door: Door{UID: user, GID: user}}).as(do); err != nil {
		t.Fatal(err)
	}
}

// serviceAt is a socket of a user's that everybody may use. Its service says who it is.
func serviceAt(t *testing.T, user uint32, name, says string) {
	t.Helper()
	var listener *net.UnixListener
	as(t, user, func() (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		return err
	})
	listener.SetUnlinkOnClose(false)
	t.Cleanup(func() { listener.Close() })
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, says) // a keeper that found out who we are may be gone
			conn.Close()
		}
	}()
}

// hostWithGateway is a directory in which a service of the host's has a socket, and one with the directory of a door.
func hostWithGateway(t *testing.T) (host, doors string) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing.Skip(t, "it takes root to have a gateway of another user's")
	}
	host, doors = t.TempDir(), t.TempDir()
	for dir, user := range map[string]int{host: serviceUser, doors: gatewayUser, filepath.Dir(host): 0} {
		if err := errors.Join(os.Chown(dir, user, user), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return host, doors
}

// doorIn is a door whose socket lies in a directory.
func doorIn(t *testing.T, dir string) *door {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	d := new(door)
	err := d.leadTo(Door{Path: dir, Name: "sock", Device: uint64(st.Dev), Inode: st.Ino, UID: sandboxUser, GID: sandboxUser})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.leads.Load().held.Close() })
	return d
}

// hears says who answers a sandbox at the other side of a door.
func (d *door) hears(t *testing.T) (string, error) {
	t.Helper()
	fd, err := d.leads.Load().connect()
	if err != nil {
		return "", err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "connection")
	defer file.Close()
	said, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(said), nil
}

// TestADoorLeadsToItsGatewayAlone (G45): a gateway that was taken over puts another service's socket into the place of its own. The keeper
// connects on the host, as the sandbox's user, so the service would take the child for that user.
func TestADoorLeadsToItsGatewayAlone(t *testing.T) {
	host, dir := hostWithGateway(t)
	service, sock := filepath.Join(host, "service"), filepath.Join(dir, "sock")
	serviceAt(t, serviceUser, service, "service")
	d := doorIn(t, dir)
	for _, attack := range []struct {
		name string
		lay  func() error
	}{
		{"a link", func() error { return os.Symlink(service, sock) }},
		{"a link that stays inside", func() error {
			return errors.Join(os.Link(service, filepath.Join(dir, "other")), os.Symlink("other", sock))
		}},
		{"a link to a handle", func() error { return os.Symlink("/proc/self/root"+service, sock) }},
		{"a second name", func() error { return os.Link(service, sock) }},
		{"a listener of another user's", func() error {
			serviceAt(t, serviceUser, service+".2", "service")
			return errors.Join(os.Rename(service+".2", sock), os.Chown(sock, gatewayUser, gatewayUser))
		}},
		{"a file", func() error { return os.WriteFile(sock, nil, 0o666) }},
	} {
		if err := attack.lay(); err != nil {
			t.Fatal(err)
		}
		if said, err := d.hears(t); err == nil {
			t.Errorf("%s: the sandbox speaks to the %s", attack.name, said)
		}
		if err := errors.Join(os.Remove(sock)); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := d.hears(t); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no socket is there, and the sandbox speaks to the %s: %v", said, err)
	}
	serviceAt(t, gatewayUser, sock, "gateway")
	if said, err := d.hears(t); said != "gateway" {
		t.Errorf("the sandbox speaks to the %q: %v", said, err)
	}
}

// TestADoorThatIsExchangedMeanwhile (G45): the socket is exchanged for a link and back, at every moment of a connection.
func TestADoorThatIsExchangedMeanwhile(t *testing.T) {
	host, dir := hostWithGateway(t)
	service, sock, link := filepath.Join(host, "service"), filepath.Join(dir, "sock"), filepath.Join(dir, "link")
	serviceAt(t, serviceUser, service, "service")
	serviceAt(t, gatewayUser, sock, "gateway")
	if err := os.Symlink(service, link); err != nil {
		t.Fatal(err)
	}
	d := doorIn(t, dir)
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, sock, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 300 {
		if said, err := d.hears(t); err == nil && said != "gateway" {
			t.Fatalf("the sandbox speaks to the %s", said)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}
