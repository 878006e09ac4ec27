package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"torno/internal/lock"
	"torno/internal/retry"
	"torno/internal/socket"
	"torno/internal/trust"
)

// ListenSocket listens on a unix socket. Only root and our own user can connect to it. No other user may be able to
// change its directory, and it may not lie in the outbox, because children reach the outbox. ListenSocket replaces the
// socket of a server that was killed. Close removes the socket.
func (s *Server) ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	dir, name, err := socketPlace(path)
	if err != nil {
		return nil, err
	}
	if err := isOurOwn(dir); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := apartFrom(s.m.Outbox(), dir); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	// If two servers start at once, only one may look for a dead socket and replace it.
	held, err := lock.In(dir, name+".lock", fmt.Sprintf("process %d", os.Getpid()))
	if other, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil, fmt.Errorf("socket %s: another server listens there (%s); next: let the clients use that server, or name another socket", path, other.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	listener, err := listenWhereNobodyDoes(ctx, dir, name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), held.Unlock())
	}
	l := &heldSocket{Listener: socket.OperatorsOnly(listener)}
	l.close = sync.OnceValue(func() error {
		return errors.Join(listener.Close(), os.Remove(filepath.Join(dir, name)), held.Unlock())
	})
	return l, nil
}

// heldSocket is a listener that removes its socket once, at its end.
type heldSocket struct {
	net.Listener
	close func() error
}

// Close stops listening and removes the socket.
func (l *heldSocket) Close() error { return l.close() }

// socketPlace splits the path of a socket into its directory, with links resolved, and its name there. It refuses a
// directory where another user could put a socket.
func socketPlace(path string) (dir, name string, err error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", "", fmt.Errorf("socket %s: %w", path, err)
	}
	if dir, err = trust.Places().Follow(filepath.Dir(absolute)); err != nil {
		return "", "", fmt.Errorf("socket %s: %w; next: put it into a directory of your own, made with mkdir -m 700", path, err)
	}
	return dir, filepath.Base(absolute), nil
}

// isOurOwn refuses a directory of another user, even root's: clients connect to a socket only if the same user owns the
// socket and its directory.
func isOurOwn(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return fmt.Errorf("directory %s belongs to user %d, so clients would not trust a socket there; next: put it into a directory of your own, made with mkdir -m 700", dir, owner)
	}
	return nil
}

// apartFrom refuses a directory that lies in the outbox, under whatever name.
func apartFrom(outbox, dir string) error {
	out, err := os.Stat(outbox)
	if err != nil {
		return err
	}
	for step := dir; ; step = filepath.Dir(step) {
		info, err := os.Stat(step)
		if err != nil {
			return err
		}
		if os.SameFile(info, out) {
			return errors.New("it lies in the outbox, where children could connect to it; next: put it into a directory of your own, made with mkdir -m 700")
		}
		if step == filepath.Dir(step) {
			return nil
		}
	}
}

// listenWhereNobodyDoes replaces a socket on which no process listens, and nothing else.
func listenWhereNobodyDoes(ctx context.Context, dir, name string) (net.Listener, error) {
	switch info, err := os.Lstat(filepath.Join(dir, name)); {
	case errors.Is(err, fs.ErrNotExist):
		return socket.Listen(dir, name, 0o600)
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, errors.New("the file there is not a socket; next: name another path")
	}
	conn, err := socket.Dial(ctx, dir, name)
	switch {
	case err == nil:
		return nil, errors.Join(errors.New("another program listens there; next: name another path"), conn.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return nil, err
	}
	return socket.Listen(dir, name, 0o600)
}

// ServeSocket speaks in lines with all clients that connect, until ctx ends. It closes the listener.
func (s *Server) ServeSocket(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { listener.Close() })
	var clients sync.WaitGroup
	err := s.accept(ctx, listener, &clients)
	stop()
	clients.Wait()
	return errors.Join(err, listener.Close(), s.leave(false))
}

// accept starts to serve each client that comes. If there is no place for a client, accept tells it so.
func (s *Server) accept(ctx context.Context, listener net.Listener, clients *sync.WaitGroup) error {
	places := make(chan struct{}, maxSessions)
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if isShortage(err) && retry.Pause(ctx, shortagePause) == nil {
			continue
		}
		if err != nil {
			return err
		}
		select {
		case places <- struct{}{}:
			clients.Go(func() {
				defer func() { <-places }()
				s.serveConnection(ctx, conn)
			})
		default:
			full := faultOf(nil, jsonrpc.CodeInternalError, "this server has too many clients. next: end other clients")
			_ = newLines(conn, conn, nil).write(full) // the client may be gone
			conn.Close()
		}
	}
}

// shortagePause is how long accept waits before it tries again.
const shortagePause = 100 * time.Millisecond

// isShortage reports whether accepting failed because the machine or the process is short of something, or because the
// client left too early. In none of these cases is the listener broken.
func isShortage(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED}, func(short error) bool {
		return errors.Is(err, short)
	})
}

// serveConnection speaks with one client of the socket.
func (s *Server) serveConnection(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // even if the client no longer reads
	if err := s.converse(ctx, conn, conn, rand.Text()); err != nil {
		s.log.Info("a client of the socket has ended", "error", err)
	}
}

// Forward connects to the socket of a server. It sends everything from in to the server and writes the answers to out,
// until either ends. With it a client that can only start a command can share a server with others.
func Forward(ctx context.Context, path string, in io.Reader, out io.Writer) error {
	dir, name, err := socketPlace(path)
	if err != nil {
		return err
	}
	conn, err := socket.Dial(ctx, dir, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("socket %s: no server listens there: %w; next: start it with subagent mcp --socket %s", path, err, path)
		}
		return fmt.Errorf("socket %s: %w", path, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	said := make(chan struct{}) // closed when in has ended
	go func() {
		_, err := io.Copy(conn, in)
		if _, broken := errors.AsType[*net.OpError](err); broken {
			return // the server no longer reads: in has not ended
		}
		close(said)
		_ = conn.(*net.UnixConn).CloseWrite() // the server answers the open questions, and then ends
	}()
	_, err = io.Copy(out, conn)
	_, broken := errors.AsType[*net.OpError](err) // the connection failed, not out
	select {
	case <-ctx.Done():
		return nil
	case <-said:
		return err
	default:
		if err == nil || broken {
			err = fmt.Errorf("socket %s: the server has closed the connection, because it ended or has too many clients; next: end other clients, or start the server again, and then this client", path)
		}
		return err
	}
}
