package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// accept takes watchers until the listener is closed.
func (k *keeper) accept(ctx context.Context, listener net.Listener, serving *sync.WaitGroup) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		serving.Go(func() { k.serve(ctx, conn) })
	}
}

// maxHello bounds the line with which a watcher says what it has had, or what it wants.
const maxHello = 64

// What a watcher says that wants no output. It comes on a line of its own, since others may be full of input or unread.
const (
	killHello = "kill\n" // end the sandbox
	endHello  = "end\n"  // tell how it ended, when it has
)

// serve sends one watcher everything behind the place that it names, and takes its words.
func (k *keeper) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, maxFrame)
	hello, err := in.ReadString('\n')
	if err != nil || len(hello) > maxHello {
		return
	}
	switch hello {
	case killHello:
		k.kill()
		return
	case endHello:
		_ = k.sendEnd(ctx, conn)
		return
	}
	place, err := ParsePlace(strings.TrimSuffix(hello, "\n"))
	if err != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		k.listen(in)
		stop() // the watcher is gone, so it holds nobody up any more
	})
	reader := k.record.follow()
	_ = k.send(ctx, conn, reader, place) // whoever does not hear the end finds it in the box
	reader.close()
	stop()
	conn.Close()
	listening.Wait()
}

// send is the watcher's view: that it runs, the output, the end.
func (k *keeper) send(ctx context.Context, conn net.Conn, reader *reader, place Place) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	select {
	case <-k.running:
		if err := (Frame{Kind: Running}).write(conn); err != nil {
			return err
		}
	case <-k.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		f, err := reader.read(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.Offset+int64(len(f.Bytes)) <= *place.of(f.Kind) {
			continue
		}
		if err := f.write(conn); err != nil {
			return err
		}
	}
	return k.sendEnd(ctx, conn)
}

// sendEnd waits for the end and tells it.
func (k *keeper) sendEnd(ctx context.Context, conn net.Conn) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	select {
	case <-k.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	text, err := json.Marshal(k.end)
	if err != nil {
		return err
	}
	return Frame{Kind: Ended, Bytes: text}.write(conn)
}

// listen obeys a watcher until it goes.
func (k *keeper) listen(in io.Reader) {
	for {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		switch f.Kind {
		case Input:
			_ = k.input(f.Bytes) // an agent that has closed its input does not want it
		case Shut:
			k.shutInput()
		}
	}
}
