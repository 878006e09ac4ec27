package patch

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// span says where in base.text the compressed content of a file lies.
type span struct {
	At, Length int64
}

const (
	textName    = "base.text"
	maxText     = 1 << 20   // bytes of a file that is shown line by line and merged
	maxAllTexts = 256 << 20 // bytes that are kept for one base, before compression
)

// isText reports whether content is shown line by line. Git has the same rule.
func isText(data []byte) bool {
	return len(data) <= maxText && !bytes.Contains(data[:min(len(data), 8000)], []byte{0})
}

// texts appends to the file with a base's kept content.
type texts struct {
	base   *Base
	file   *os.File
	packer *flate.Writer // made once: it is much bigger than most files
	at     int64
}

func (s *Store) appendTexts(b *Base) (*texts, error) {
	f, err := s.root.OpenFile(filepath.Join(b.Subagent, textName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store the text of the files that %s is given: %w", b.Subagent, err)
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if b.Texts == nil {
		b.Texts = map[string]span{}
	}
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &texts{base: b, file: f, packer: packer, at: at}, nil
}

// add keeps a content, unless it is kept already, is not text, or exceeds the limit.
func (t *texts) add(digest string, data []byte) error {
	if _, known := t.base.Texts[digest]; known || !isText(data) || t.base.TextSize+int64(len(data)) > maxAllTexts {
		return nil
	}
	var packed bytes.Buffer
	t.packer.Reset(&packed)
	if _, err := t.packer.Write(data); err != nil {
		return err
	}
	if err := t.packer.Close(); err != nil {
		return err
	}
	n, err := t.file.Write(packed.Bytes())
	if err != nil {
		return fmt.Errorf("store the text of the copied files: %w", err)
	}
	t.base.Texts[digest] = span{t.at, int64(n)}
	t.at += int64(n)
	t.base.TextSize += int64(len(data))
	return nil
}

func (t *texts) close() error { return errors.Join(t.file.Sync(), t.file.Close()) }

// text returns a content of the base, if it was kept.
func (s *Store) text(b *Base, digest string) ([]byte, bool, error) {
	where, ok := b.Texts[digest]
	if !ok {
		return nil, false, nil
	}
	f, err := s.root.Open(filepath.Join(b.Subagent, textName))
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	from := flate.NewReader(io.NewSectionReader(f, where.At, where.Length))
	data, err := io.ReadAll(io.LimitReader(from, maxText+1))
	if err != nil {
		return nil, false, fmt.Errorf("read the stored text of the files that %s was given: %w", b.Subagent, err)
	}
	if digestOf(data) != digest {
		return nil, false, fmt.Errorf("the stored text of the files that %s was given is damaged", b.Subagent)
	}
	return data, true, nil
}

// before returns the text that a file had, if it is known.
func (w *Work) before(c *Change) ([]byte, bool, error) {
	if c.Before == nil || c.Before.Kind != File {
		return nil, c.Before == nil, nil
	}
	return w.store.text(w.Base, c.Before.Digest)
}

// after returns the text that a file has now.
func (w *Work) after(c *Change) ([]byte, bool, error) {
	switch {
	case c.After == nil || c.After.Kind != File:
		return nil, c.After == nil, nil
	case c.After.Digest == "":
		return nil, false, nil
	case !w.stage.has(c.After.Digest): // only its mode has changed
		return w.store.text(w.Base, c.After.Digest)
	}
	return w.stage.text(c.After.Digest)
}
