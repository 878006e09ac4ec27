package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// verifier reads a part of an image. If the part does not match its digest and size, the verifier fails at the part's
// end or beyond it.
type verifier struct {
	from   io.Reader
	part   blob
	what   string
	count  func(n int)
	hash   hash.Hash
	got    int64
	failed error
}

func verified(r io.Reader, b blob, what string, count func(n int)) io.Reader {
	return &verifier{from: r, part: b, what: what, count: count, hash: sha256.New()}
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.failed != nil {
		return 0, v.failed
	}
	n, err := v.from.Read(p)
	v.got += int64(n)
	v.hash.Write(p[:n])
	if v.count != nil && n > 0 {
		v.count(n)
	}
	switch {
	case v.got > v.part.size:
		n, err = 0, problem(Mismatch, "the %s has more than the %d bytes that it should have", v.what, v.part.size)
	case err == nil:
		return n, nil
	default:
		err = v.end(err)
	}
	v.failed = err
	return n, err
}

// end judges the end of the stream: it returns io.EOF if the part is complete and matches.
func (v *verifier) end(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if v.got < v.part.size {
		return problem(Mismatch, "the %s ends after %d of %d bytes", v.what, v.got, v.part.size)
	}
	return same(v.what, v.part.digest, v.hash)
}

// same returns io.EOF if the digest matches, or an error. A zero digest promises nothing, so everything matches it.
func same(what string, want v1.Hash, got hash.Hash) error {
	if want == (v1.Hash{}) {
		return io.EOF
	}
	if have := hex.EncodeToString(got.Sum(nil)); have != want.Hex {
		return problem(Mismatch, "the %s should be %s, but is sha256:%s", what, want, have)
	}
	return io.EOF
}

func digestOf(raw []byte) v1.Hash {
	sum := sha256.Sum256(raw)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}

// checkDigest compares a whole document with its digest.
func checkDigest(what string, want v1.Hash, raw []byte) error {
	if have := digestOf(raw); have != want {
		return problem(Mismatch, "the %s should be %s, but is %s", what, want, have)
	}
	return nil
}

// alive stops reading when ctx ends, because the deadline has passed or no caller waits for the image any more.
type alive struct {
	ctx context.Context
	io.Reader
}

func (a alive) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, context.Cause(a.ctx)
	}
	return a.Reader.Read(p)
}
