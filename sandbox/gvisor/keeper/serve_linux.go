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

	"torno/sandbox/gvisor/keeper/output"
)

// accept takes watchers until the listener is closed.
func (k *keeper) accept(ctx context.Context) {
	for {
		conn, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.serving.Go(func() {
			if attend := k.greet(ctx, conn, false); attend != nil {
				attend(ctx)
			}
		})
	}
}

// What bounds the line with which a watcher says what it has had, or what it wants.
const (
	maxHello  = 256
	helloTime = 10 * time.Second
)

// What a watcher says that wants no output. It comes on a line of its own, since others may be full of input or unread.
const (
	killHello  = "kill\n"  // end the sandbox
	leaveHello = "leave\n" // end it, and wait for no reader
	endHello   = "end\n"   // tell how it ended, when it has
	runHello   = "run\n"   // a run comes into the sandbox; an Arrive follows
)

// greet reads what a watcher wants. What remains to be done for it is returned. The first watcher, which started the keeper, is
// the only one that may release the sandbox.
func (k *keeper) greet(ctx context.Context, conn net.Conn, first bool) (attend func(context.Context)) {
	defer context.AfterFunc(ctx, func() { conn.Close() })() // a connection that says nothing is not waited for
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

// greetRun takes what a watcher says of the run that comes into the sandbox, and answers.
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

// take opens the doors of a run, and learns its time. It does so once, and not when init was given its word.
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

// attend talks to a watcher, and listens to it meanwhile. A watcher that is gone holds nothing up.
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
			listening.Wait() // what it has said before is heard to the end
		}
		stop() // a watcher that does not hear the end finds it in the box
		conn.Close()
		listening.Wait()
	}
}

// isGone says whether a write failed because the other side is gone.
func isGone(err error) bool { return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) }

// send is the watcher's view: that it runs, the output, the end.
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

// sendEnd waits for the end and tells it.
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

// listen obeys a watcher until it goes. Only a release is the word: input waits until init was given that, since init would take
// it for the word, and with the first watcher, which alone could give it, the keeper breaks off.
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
