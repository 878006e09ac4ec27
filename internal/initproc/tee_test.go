//go:build linux

package initproc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestKept(t *testing.T) {
	source := bytes.Repeat([]byte("0123456789abcdef"), 3*teeBuffer/16)
	for _, limit := range []int{1, teeBuffer - 1, teeBuffer, teeBuffer + 1, len(source) - 1, len(source), len(source) + 1} {
		for _, piece := range []int{1000, 4096, teeBuffer, len(source)} {
			dir := t.TempDir()
			a := &answer{path: "/ws/answer", root: open(t, dir), dir: ".", name: "answer"}
			k := kept{limit: int64(limit), whole: &whole{answer: a, room: int64(limit)}}
			for rest := source; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				k.add(rest[:min(piece, len(rest))])
			}
			want := source[:min(limit, len(source))]
			if got := bytes.Join(k.chunks, nil); !bytes.Equal(got, want) || k.size != int64(len(want)) || k.cut != (limit < len(source)) {
				t.Errorf("limit %d in pieces of %d: %d bytes, size %d, cut %v", limit, piece, len(got), k.size, k.cut)
			}
			if all, err := os.ReadFile(filepath.Join(dir, "answer.whole")); k.cut && !bytes.Equal(all, source) || k.cut != (err == nil) {
				t.Errorf("limit %d in pieces of %d: %d bytes of %d in the file, %v", limit, piece, len(all), len(source), err)
			}
		}
	}
}
