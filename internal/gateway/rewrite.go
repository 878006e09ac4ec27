package gateway

import (
	"bytes"
	"io"
)

// rewriter passes a text on and replaces some words. It holds back only bytes that may be the beginning of a word.
type rewriter struct {
	to      io.Writer
	words   []word
	waiting []byte
}

type word struct{ from, to string }

// replace adds a word to replace.
func (r *rewriter) replace(from, to string) { r.words = append(r.words, word{from, to}) }

// Write passes on all bytes that cannot be part of an unfinished word.
func (r *rewriter) Write(p []byte) (int, error) {
	text := append(r.waiting, p...)
	for _, w := range r.words {
		text = bytes.ReplaceAll(text, []byte(w.from), []byte(w.to))
	}
	keep := 0
	for _, w := range r.words {
		keep = max(keep, overlap(text, w.from))
	}
	if ready := text[:len(text)-keep]; len(ready) > 0 {
		if _, err := r.to.Write(ready); err != nil {
			return 0, err
		}
	}
	r.waiting = bytes.Clone(text[len(text)-keep:])
	return len(p), nil
}

// flush passes the held bytes on, because no more follow.
func (r *rewriter) flush() error {
	if len(r.waiting) == 0 {
		return nil
	}
	_, err := r.to.Write(r.waiting)
	r.waiting = nil
	return err
}
