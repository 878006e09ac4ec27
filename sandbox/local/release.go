package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"torno/internal/runfile"
	"torno/sandbox"
)

// Attester checks a held sandbox from outside.
type Attester interface {
	Attest(context.Context, sandbox.Handle) (sandbox.Attestation, error)
}

// Release waits on a first attachment until init holds. Then it attests the sandbox and releases it. The agent gets no
// input. Release is for sandboxes without a run; the release of a run is first written to the journal.
func Release(ctx context.Context, l Attester, h sandbox.Handle, a sandbox.Attachment) (sandbox.Attestation, error) {
	if err := awaitHold(ctx, a); err != nil {
		return sandbox.Attestation{}, err
	}
	seen, err := l.Attest(ctx, h)
	if err == nil {
		err = a.Release(ctx)
	}
	if err == nil {
		err = a.Input().Close()
	}
	return seen, err
}

// awaitHold reads until init reports that it holds. Init writes nothing else before its release.
func awaitHold(ctx context.Context, a sandbox.Attachment) error {
	said, err := listen(ctx, a, func(said []byte) bool { return bytes.ContainsRune(said, '\n') })
	if err != nil {
		return err
	}
	if string(said) == runfile.Holding {
		return nil
	}
	exit, err := a.Wait(ctx)
	return errors.Join(fmt.Errorf("init does not hold: it said %q and ended with %d", said, exit.Code), err)
}

// maxSaid bounds how much of a trial's standard error is kept.
const maxSaid = 4 << 10

// listen reads standard error until enough returns true, or until all output has ended.
func listen(ctx context.Context, a sandbox.Attachment, enough func(said []byte) bool) (said []byte, err error) {
	for !enough(said) {
		select {
		case chunk, more := <-a.Output():
			if !more {
				return said, nil
			}
			if chunk.Stream == sandbox.Stderr && len(said) < maxSaid {
				said = append(said, chunk.Bytes...)
			}
		case <-ctx.Done():
			return said, ctx.Err()
		}
	}
	return said, nil
}
