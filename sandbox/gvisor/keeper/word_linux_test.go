package keeper

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"torno/sandbox/gvisor/keeper/output"
)

// word is what the init of these tests waits for.
const word = "go\n"

// holding is a keeper whose init holds, and what init gets to read when the keeper shuts it.
func holding(t *testing.T) (k *keeper, heard func() string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	k = newKeeper(nil)
	k.order, k.stdin = Order{Word: word, Stdin: true}, write
	close(k.running)
	return k, func() string {
		write.Close()
		all, err := io.ReadAll(read)
		if err != nil {
			t.Error(err)
		}
		close(k.ended)
		k.serving.Wait()
		return string(all)
	}
}

// says are frames as a watcher writes them.
func says(frames ...output.Frame) io.Reader {
	var all bytes.Buffer
	for _, f := range frames {
		_ = f.Write(&all) // a buffer takes everything
	}
	return &all
}

// TestInputIsNotTheWord: watchers send what init waits for, as input for the agent, to a sandbox that was not released. Init
// gets nothing, and with the first one the keeper breaks off: it is the only one that could have released the sandbox before.
func TestInputIsNotTheWord(t *testing.T) {
	for _, first := range []bool{true, false} {
		k, heard := holding(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a later watcher waits for the release until it goes
		k.listen(ctx, says(output.Frame{Kind: output.Input, Bytes: []byte(word)}, output.Frame{Kind: output.Shut}), first)
		cancel()
		if got := heard(); got != "" {
			t.Errorf("of the first watcher: %t; init was given %q", first, got)
		}
	}
}

// TestEarlyInputComesBehindTheWord: what a later watcher has sent before the release waits, in its order.
func TestEarlyInputComesBehindTheWord(t *testing.T) {
	k, heard := holding(t)
	var listening sync.WaitGroup
	listening.Go(func() {
		k.listen(t.Context(), says(output.Frame{Kind: output.Input, Bytes: []byte("one\n")}, output.Frame{Kind: output.Input, Bytes: []byte("two\n")}), false)
	})
	k.listen(t.Context(), says(output.Frame{Kind: output.Release}, output.Frame{Kind: output.Release}), true)
	listening.Wait()
	if got := heard(); got != word+"one\ntwo\n" {
		t.Errorf("init and its agent were given %q", got)
	}
}

// TestALaterWatcherReleasesNothing, whatever it sends.
func TestALaterWatcherReleasesNothing(t *testing.T) {
	k, heard := holding(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	k.listen(ctx, says(output.Frame{Kind: output.Release}, output.Frame{Kind: output.Input, Bytes: []byte("more\n")}), false)
	if got := heard(); got != "" {
		t.Errorf("init was given %q", got)
	}
}
