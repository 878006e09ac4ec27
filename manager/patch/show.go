package patch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// maxShown is how many bytes of differences are shown of all changes together.
const maxShown = 8 << 20

// Show writes the changes as a unified diff, as git writes it, and returns how many it left out because there is too much. Of
// what is binary, too long or refused only the heading is shown, as of a binary file, so that git apply takes none of it. Names are quoted; content is a stranger's text.
func (w *Work) Show(to io.Writer) (left int, err error) {
	room := maxShown
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.Entry().Kind == Directory && c.kindStays() {
			continue // as git, which knows no directories
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

// kindStays says whether the path was and is of one kind, where it was and is.
func (c *Change) kindStays() bool {
	return c.Before == nil || c.After == nil || c.Before.Kind == c.After.Kind
}

// show is one change. One that made another kind of thing of a path is shown as a deletion and an addition, as git does.
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
			_, lines, _ := bytes.Cut(text, []byte("\n")) // its own heading
			out.Write(lines)
		}
	}
	return nil
}

// lines is the content of an entry as text, and whether it can be shown so.
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

// quoteName is a name as git writes it in a diff: in quotes, with escapes, where it has characters that cannot be seen or
// that mean something there.
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
