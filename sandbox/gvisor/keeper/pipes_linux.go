package keeper

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"torno/internal/boot"
	"torno/internal/crash"
	"torno/sandbox/gvisor/keeper/output"
)

// pipes are the agent's standard streams: our ends, and the runtime's ends.
type pipes struct {
	input, output, errors       *os.File
	theirIn, theirOut, theirErr *os.File
}

func newPipes() (p pipes, err error) {
	p.theirIn, p.input, err = os.Pipe()
	if err == nil {
		p.output, p.theirOut, err = os.Pipe()
	}
	if err == nil {
		p.errors, p.theirErr, err = os.Pipe()
	}
	if err != nil {
		p.closeOurs()
		p.closeTheirs()
	}
	return p, err
}

func (p pipes) closeTheirs() { closeFiles(p.theirIn, p.theirOut, p.theirErr) }
func (p pipes) closeOurs()   { closeFiles(p.input, p.output, p.errors) }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// pump copies the agent's output into the log until the pipe ends or finishLog interrupts it, and then takes the rest.
// If the log cannot be written, output is lost, and the offsets in the log show it.
func (k *keeper) pump(ctx context.Context, p pipes) {
	k.outputs = []*os.File{p.output, p.errors}
	for kind, pipe := range map[output.Kind]*os.File{output.Stdout: p.output, output.Stderr: p.errors} {
		k.pumping.Go(func() {
			defer pipe.Close()
			buffer := make([]byte, output.MaxFrame)
			for {
				n, err := pipe.Read(buffer)
				if n > 0 {
					_ = k.log.Add(ctx, kind, buffer[:n])
				}
				if err != nil {
					break
				}
			}
			takeRest(pipe, buffer, func(data []byte) { _ = k.log.Add(ctx, kind, data) })
		})
	}
}

// takeRest takes the content of a pipe, at most as much as the pipe can hold. It does not wait: a process outside of
// the sandbox may have opened the pipe, and may fill or empty it.
func takeRest(pipe *os.File, buffer []byte, take func([]byte)) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // it does not block
		left, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		for err == nil && left > 0 {
			n := 0
			n, err = unix.Read(int(fd), buffer[:min(len(buffer), left)])
			switch {
			case errors.Is(err, unix.EINTR):
				err = nil
			case n <= 0:
				return
			default:
				take(buffer[:n])
				left -= n
			}
		}
	})
}

// release gives init its word, once. If the agent has no input, release then ends the input.
func (k *keeper) release(ctx context.Context) {
	k.mu.Lock()
	mine, allowed := k.released.CompareAndSwap(false, true), k.allowed
	k.mu.Unlock()
	if !mine {
		return
	}
	limit := boot.NewBackstop(allowed, k.order.Grace)
	k.serving.Go(func() { k.endLate(limit) })
	crash.At("keeper.released")
	_ = k.write(ctx, []byte(k.order.Word)) // an init that has ended does not need it
	if !k.order.Stdin {
		k.shut(ctx)
	}
	close(k.given)
}

// endLate ends a sandbox if its time is over and neither a watcher nor init has ended it.
func (k *keeper) endLate(limit *boot.Backstop) {
	defer limit.Stop()
	for {
		select {
		case <-k.ended:
			return
		case <-limit.C():
			if limit.Over() {
				k.kill()
				return
			}
		}
	}
}

// abandon ends an init that was not released, because the only watcher that could release it is gone.
func (k *keeper) abandon(ctx context.Context) {
	if k.released.CompareAndSwap(false, true) {
		k.shut(ctx)
	}
}

// input writes to the agent, after init was given its word. If the agent does not read, the writer has to wait.
func (k *keeper) input(ctx context.Context, data []byte) error {
	if !k.awaitWord(ctx) {
		return io.ErrClosedPipe
	}
	return k.write(ctx, data)
}

// shutInput ends the agent's input, after init was given its word.
func (k *keeper) shutInput(ctx context.Context) {
	if k.awaitWord(ctx) {
		k.shut(ctx)
	}
}

// awaitWord waits until init was given its word, or will never get it. It reports whether init was given it.
func (k *keeper) awaitWord(ctx context.Context) bool {
	select {
	case <-k.given:
		return true
	case <-k.ended:
	case <-ctx.Done():
	}
	return false
}

// write writes to init, or after init to the agent, once the sandbox runs.
func (k *keeper) write(ctx context.Context, data []byte) error {
	if !k.awaitStart(ctx) || k.stdin == nil {
		return io.ErrClosedPipe
	}
	_, err := k.stdin.Write(data)
	return err
}

func (k *keeper) shut(ctx context.Context) {
	if k.awaitStart(ctx) && k.stdin != nil {
		k.stdin.Close()
	}
}

// awaitStart waits until the sandbox runs, or will never run. It reports whether it runs, or ran.
func (k *keeper) awaitStart(ctx context.Context) bool {
	select {
	case <-k.running:
	case <-k.ended:
	case <-ctx.Done():
	}
	select {
	case <-k.running: // even if it has ended since
		return true
	default:
		return false
	}
}
