package images

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestPackedLayers(t *testing.T) {
	plain := tarOf(t, file("f", noise(1<<20)))
	for what, raw := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain), "zstd": zstdOf(t, plain, 1<<20)} {
		r, err := unpacked(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(what, err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s is another (%v)", what, err)
		}
	}
}

func TestAZstdWindow(t *testing.T) {
	raw := zstdOf(t, make([]byte, 2<<20), 2*maxWindow)
	trusting, err := zstd.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer trusting.Close()
	if n, err := io.Copy(io.Discard, trusting); err != nil || n != 2<<20 {
		t.Fatalf("whoever trusts it has %d bytes (%v)", n, err)
	}
	r, err := unpacked(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	wants(t, badStream(err), TooLarge)
}

func zstdOf(t *testing.T, plain []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for len(plain) > 0 { // in pieces, so that the frame does not know its length
		n := min(len(plain), 1<<20)
		if _, err := w.Write(plain[:n]); err != nil {
			t.Fatal(err)
		}
		plain = plain[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzUnpack(f *testing.F) {
	for _, entries := range attacks {
		f.Add(tarOf(f, entries...))
	}
	f.Fuzz(func(t *testing.T, layer []byte) {
		dir, before, after := attack(t, nil, func(dir string, _ []byte) {
			unpackInto(t, dir, Limits{Bytes: 1 << 20, Files: 100}, layer, layer)
		})
		if before != after {
			t.Errorf("the outside was changed:\n%s\nand is\n%s", before, after)
		}
		for _, kind := range []string{"\nu", "\np", "\nD", "\nS", "\ng", "\nt", "\nc"} {
			if got := "\n" + listing(t, dir); bytes.Contains([]byte(got), []byte(kind)) {
				t.Errorf("the tree has\n%s", got)
			}
		}
	})
}
