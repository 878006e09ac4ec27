package patch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// maxShown bounds the bytes of differences that are shown for all changes together.
const maxShown = 8 << 20

// Show writes the changes as a unified diff, in git's form, and returns how many it left out because there is too much.
// For a change that is binary, too long or refused it writes only the heading of a binary file, so that git apply takes
// none of it. It quotes names; the content is a stranger's text.
func (w *Work) Show(to io.Writer) (left int, err error) {
	room := maxShown
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.Entry().Kind == Directory && c.kindStays() {
			continue // git shows no directories either
		}
		text, err := w.show(c)
		if err != nil {
			return 0, err
		}
		if room -= len(text); room < 0 {
			return len(w.Changes) - i, nil
		}
		if _, err := to.Write(text); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// kindStays reports whether the path has not changed from one kind to another.
func (c *Change) kindStays() bool {
	return c.Before == nil || c.After == nil || c.Before.Kind == c.After.Kind
}

// show returns the diff of one change. If the path became another kind of thing, it shows a deletion and an addition,
// as git does.
func (w *Work) show(c *Change) ([]byte, error) {
	if !c.kindStays() {
		var both []byte
		for _, half := range []*Change{{Path: c.Path, Before: c.Before, Refused: c.Refused}, {Path: c.Path, After: c.After, Refused: c.Refused}} {
			if half.Entry().Kind == Directory {
				continue
			}
			text, err := w.show(half)
			if err != nil {
				return nil, err
			}
			both = append(both, text...)
		}
		return both, nil
	}
	from, to := quoteName("a/"+c.Path), quoteName("b/"+c.Path)
	var out bytes.Buffer
	fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
	switch {
	case c.Before == nil:
		fmt.Fprintf(&out, "new file mode %s\n", c.After.Mode())
		from = "/dev/null"
	case c.After == nil:
		fmt.Fprintf(&out, "deleted file mode %s\n", c.Before.Mode())
		to = "/dev/null"
	case c.Before.Mode() != c.After.Mode():
		fmt.Fprintf(&out, "old mode %s\nnew mode %s\n", c.Before.Mode(), c.After.Mode())
	}
	err := w.showLines(&out, c, from, to)
	return out.Bytes(), err
}

func (w *Work) showLines(out *bytes.Buffer, c *Change, from, to string) error {
	before, ok, err := w.lines(c.Before)
	if err != nil {
		return err
	}
	after, also, err := w.lines(c.After)
	switch {
	case err != nil:
		return err
	case c.Refused != "" || !ok || !also:
		fmt.Fprintf(out, "Binary files %s and %s differ\n", from, to)
	default:
		if text := diff.Diff(from, before, to, after); len(text) > 0 {
			_, lines, _ := bytes.Cut(text, []byte("\n")) // the library's own heading
			out.Write(lines)
		}
	}
	return nil
}

// lines returns the content of an entry as text, and whether it can be shown so.
func (w *Work) lines(e *Entry) ([]byte, bool, error) {
	switch {
	case e == nil:
		return nil, true, nil
	case e.Kind == Link:
		return []byte(e.Target), nameFault(e.Target) == "", nil
	case e.Kind != File || e.Digest == "":
		return nil, false, nil
	case w.stage.has(e.Digest):
		return w.stage.text(e.Digest)
	}
	return w.store.text(w.Base, e.Digest)
}

// quoteName returns a name as git writes it in a diff. If it has characters that cannot be seen or that mean something
// there, it is in quotes, with escapes.
func quoteName(name string) string {
	if !strings.ContainsAny(name, "\"\\") && nameFault(name[2:]) == "" {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for name != "" {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1 || hidden(r):
			for _, raw := range []byte(name[:size]) {
				fmt.Fprintf(&b, "\\%03o", raw)
			}
		default:
			b.WriteRune(r)
		}
		name = name[size:]
	}
	b.WriteByte('"')
	return b.String()
}
