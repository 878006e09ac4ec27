package budget

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
)

// tape is a disk in memory that stops after so many steps: a byte written is one, and so is everything else.
type tape struct {
	names   map[string]*blob // as a process sees them
	durable map[string]*blob // as they are after a power cut
	left    int              // steps; below 0 for ever
	dead    bool
	flushes int
}

type blob struct {
	data, flushed []byte
	wasCut        bool // it was cut since it was flushed
}

var errDead = errors.New("the process is dead")

func newTape() *tape {
	return &tape{names: map[string]*blob{}, durable: map[string]*blob{}, left: -1}
}

// steps takes up to n steps and says how many of them were left.
func (t *tape) steps(n int) int {
	switch {
	case t.dead:
		return 0
	case t.left < 0:
		return n
	case t.left < n:
		n = t.left
		t.dead = true
	}
	t.left -= n
	return n
}

func (t *tape) step() error {
	if t.steps(1) == 0 {
		return errDead
	}
	return nil
}

func (t *tape) read(name string) ([]byte, error) {
	if b := t.names[name]; b != nil {
		return bytes.Clone(b.data), t.step()
	}
	return nil, t.step()
}

func (t *tape) open(name string) (file, error) {
	if err := t.step(); err != nil {
		return nil, err
	}
	if t.names[name] == nil {
		t.names[name] = &blob{}
	}
	return &tapeFile{t, t.names[name]}, nil
}

func (t *tape) rename(from, to string) error {
	if err := t.step(); err != nil {
		return err
	}
	t.names[to] = t.names[from]
	delete(t.names, from)
	return nil
}

func (t *tape) remove(name string) error {
	if err := t.step(); err != nil {
		return err
	}
	delete(t.names, name)
	return nil
}

func (t *tape) holds(name string, f file) bool {
	if of, ok := f.(*fullFile); ok {
		f = of.file
	}
	return t.names[name] == f.(*tapeFile).blob
}

func (t *tape) flush() error {
	if err := t.step(); err != nil {
		return err
	}
	t.durable = maps.Clone(t.names)
	return nil
}

type tapeFile struct {
	tape *tape
	blob *blob
}

func (f *tapeFile) Write(p []byte) (int, error) {
	n := f.tape.steps(len(p))
	f.blob.data = append(f.blob.data, p[:n]...)
	if n < len(p) {
		return n, errDead
	}
	return n, nil
}

func (f *tapeFile) Sync() error {
	if err := f.tape.step(); err != nil {
		return err
	}
	f.tape.flushes++
	f.blob.flushed, f.blob.wasCut = bytes.Clone(f.blob.data), false
	return nil
}

func (f *tapeFile) Truncate(size int64) error {
	if err := f.tape.step(); err != nil {
		return err
	}
	f.blob.wasCut = f.blob.wasCut || int(size) < len(f.blob.flushed)
	f.blob.data = f.blob.data[:size:size]
	return nil
}

func (f *tapeFile) Close() error { return nil }

// afterKill is the disk that the next process finds.
func (t *tape) afterKill() *tape {
	next := newTape()
	for name, b := range t.names {
		next.names[name] = b.clone()
	}
	for name, b := range t.durable {
		next.durable[name] = b.clone()
		if t.names[name] == b {
			next.durable[name] = next.names[name]
		}
	}
	return next
}

func (b *blob) clone() *blob {
	return &blob{data: bytes.Clone(b.data), flushed: bytes.Clone(b.flushed), wasCut: b.wasCut}
}

// afterPowerCut is a disk that the next process may find: what was flushed is there, of the rest anything.
func (t *tape) afterPowerCut(random *rand.Rand) *tape {
	next := newTape()
	names := t.durable
	if random.IntN(2) == 0 {
		names = t.names
	}
	for name, b := range names {
		data := b.survives(random)
		next.names[name] = &blob{data: data, flushed: bytes.Clone(data)}
	}
	next.durable = maps.Clone(next.names)
	return next
}

func (b *blob) survives(random *rand.Rand) []byte {
	if b.wasCut {
		return bytes.Clone(b.flushed) // that it was cut may be lost
	}
	data := bytes.Clone(b.data)
	from := len(b.flushed)
	if from == len(data) {
		return data
	}
	at := from + random.IntN(len(data)-from)
	switch random.IntN(4) {
	case 0:
		return data[:from]
	case 1:
		return data[:at]
	case 2:
		clear(data[at:min(len(data), at+random.IntN(200))]) // a hole
	case 3:
		for i := at; i < len(data); i++ {
			data[i] = byte(random.Uint32())
		}
	}
	return data
}
