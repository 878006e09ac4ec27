package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/retry"
	"torno/sandbox/gvisor/keeper/output"
)

// accept accepts watchers until the listener is closed. If the machine is short of files or memory for a moment, accept
// tries again.
func (k *keeper) accept(ctx context.Context) {
	for {
		conn, err := k.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			_ = retry.Pause(context.WithoutCancel(ctx), shortage)
			continue
		}
		k.serving.Go(func() {
			if attend := k.greet(ctx, conn, false); attend != nil {
				attend(ctx)
			}
		})
	}
}

// The keeper pauses for shortage after an Accept that failed.
const shortage = 100 * time.Millisecond

// These constants bound a watcher's first line: the progress that it has, or one of the words below.
const (
	maxHello  = 256
	helloTime = 10 * time.Second
)

// These are the words of watchers that want no output. A watcher sends them on a connection of its own, because others
// may be blocked by input or unread output.
const (
	killHello  = "kill\n"  // end the sandbox
	leaveHello = "leave\n" // end it, and do not wait for readers
	endHello   = "end\n"   // report how it ended, when it has ended
	runHello   = "run\n"   // a run comes into the sandbox; an Arrive frame follows
)

// greet reads a watcher's first line. It returns a function for the rest of the work, or nil. Only the first watcher,
// which started the keeper, may release the sandbox.
func (k *keeper) greet(ctx context.Context, conn net.Conn, first bool) (attend func(context.Context)) {
	defer context.AfterFunc(ctx, func() { conn.Close() })() // do not wait for a silent connection
	in := bufio.NewReaderSize(conn, maxHello)
	_ = conn.SetReadDeadline(time.Now().Add(helloTime))
	hello, err := in.ReadSlice('\n')
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		conn.Close()
		return nil
	}
	switch text := string(hello); text {
	case killHello, leaveHello:
		k.kill()
		_ = output.Frame{Kind: output.Done}.Write(conn)
		conn.Close()
		if text == leaveHello {
			k.stop()
		}
		return nil
	case runHello:
		k.greetRun(conn, in)
		return nil
	case endHello:
		return k.attend(conn, in, first, func(ctx context.Context) error { return k.sendEnd(ctx, conn) })
	default:
		progress, err := output.ParseProgress(strings.TrimSuffix(text, "\n"))
		if err != nil {
			conn.Close()
			return nil
		}
		reader := k.log.Follow()
		return k.attend(conn, in, first, func(ctx context.Context) error {
			defer reader.Close()
			return k.send(ctx, conn, reader, progress)
		})
	}
}

// greetRun reads the Arrival of a run, and answers.
func (k *keeper) greetRun(conn net.Conn, in io.Reader) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(helloTime))
	f, err := output.ReadFrame(in)
	if err != nil || f.Kind != output.Arrive {
		return
	}
	var arrival Arrival
	err = json.Unmarshal(f.Bytes, &arrival)
	if err == nil {
		err = k.take(arrival)
	}
	if err != nil {
		_ = output.Frame{Kind: output.Refused, Bytes: []byte(err.Error())}.Write(conn)
		return
	}
	_ = output.Frame{Kind: output.Done}.Write(conn)
}

// take opens the doors of a run, and stores its time. It works only once, and only before init was given its word.
func (k *keeper) take(a Arrival) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.arrived || k.released.Load():
		return errors.New("a run is in the sandbox already")
	case len(a.Doors) != len(k.doors):
		return fmt.Errorf("the sandbox has %d doors, and the run %d", len(k.doors), len(a.Doors))
	}
	k.arrived = true
	for i, d := range a.Doors {
		if err := k.doors[i].leadTo(d); err != nil {
			return err
		}
	}
	k.allowed = a.Allowed
	return nil
}

// attend talks to a watcher and listens to it at the same time. A watcher that is gone holds nothing up.
func (k *keeper) attend(conn net.Conn, in io.Reader, first bool, talk func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		var listening sync.WaitGroup
		listening.Go(func() {
			k.listen(ctx, in, first)
			stop()
		})
		if isGone(talk(ctx)) {
			listening.Wait() // read everything that it has sent before
		}
		stop() // a watcher that misses the end finds it in the box
		conn.Close()
		listening.Wait()
	}
}

// isGone reports whether a write failed because the other side is gone.
func isGone(err error) bool { return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) }

// send sends a watcher everything: that the sandbox runs, the output, the end.
func (k *keeper) send(ctx context.Context, conn net.Conn, reader *output.Reader, progress output.Progress) error {
	if k.awaitStart(ctx) {
		if err := (output.Frame{Kind: output.Running}).Write(conn); err != nil {
			return err
		}
	}
	if !progress.Reaches(reader.Before) {
		if err := (output.Frame{Kind: output.Missing, Bytes: []byte(reader.Before.String())}).Write(conn); err != nil {
			return err
		}
	}
	for {
		f, err := reader.Read(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.Offset+int64(len(f.Bytes)) <= *progress.Of(f.Kind) {
			continue
		}
		if err := f.Write(conn); err != nil {
			return err
		}
	}
	return k.sendEnd(ctx, conn)
}

// sendEnd waits for the end and sends it.
func (k *keeper) sendEnd(ctx context.Context, conn net.Conn) error {
	select {
	case <-k.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	text, err := json.Marshal(k.end)
	if err != nil {
		return err
	}
	return output.Frame{Kind: output.Ended, Bytes: text}.Write(conn)
}

// listen obeys a watcher until it goes away. Input waits until init was given its word, because init would take the
// input for the word. If the first watcher sends anything before its release, listen returns at once: only this watcher
// could release init, so waiting would never end.
func (k *keeper) listen(ctx context.Context, in io.Reader, first bool) {
	for {
		f, err := output.ReadFrame(in)
		if err != nil {
			return
		}
		if first && !k.released.Load() && f.Kind != output.Release {
			return
		}
		switch f.Kind {
		case output.Input:
			_ = k.input(ctx, f.Bytes) // an agent that has closed its input does not want it
		case output.Shut:
			k.shutInput(ctx)
		case output.Release:
			if first {
				k.release(ctx)
			}
		}
	}
}
