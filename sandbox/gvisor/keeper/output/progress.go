package output

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Progress is the place up to which output was received, in both streams. Its text is "OUT.ERR"; "" stands for the
// beginning.
type Progress struct {
	Out int64 `json:"out,omitempty"`
	Err int64 `json:"err,omitempty"`
}

// ParseProgress parses the text of a progress.
func ParseProgress(text string) (Progress, error) {
	if text == "" {
		return Progress{}, nil
	}
	out, errs, _ := strings.Cut(text, ".")
	o, err1 := strconv.ParseInt(out, 10, 64)
	e, err2 := strconv.ParseInt(errs, 10, 64)
	p := Progress{o, e}
	if errors.Join(err1, err2) != nil || o < 0 || e < 0 || p.String() != text {
		return Progress{}, fmt.Errorf("%q is no place in a sandbox's output", text)
	}
	return p, nil
}

func (p Progress) String() string {
	return strconv.FormatInt(p.Out, 10) + "." + strconv.FormatInt(p.Err, 10)
}

// Of returns the progress in one stream.
func (p *Progress) Of(k Kind) *int64 {
	if k == Stderr {
		return &p.Err
	}
	return &p.Out
}

// Max returns, for each stream, the further progress.
func (p Progress) Max(other Progress) Progress {
	return Progress{max(p.Out, other.Out), max(p.Err, other.Err)}
}

// Reaches reports whether everything up to another place is there.
func (p Progress) Reaches(other Progress) bool { return p.Out >= other.Out && p.Err >= other.Err }

// Take moves the progress behind a frame. It returns the new part of the frame, and whether output before it is
// missing.
func (p *Progress) Take(f Frame) (fresh []byte, gap bool) {
	at := p.Of(f.Kind)
	end := f.Offset + int64(len(f.Bytes))
	if end <= *at {
		return nil, false
	}
	fresh, gap = f.Bytes[max(*at-f.Offset, 0):], f.Offset > *at
	*at = end
	return fresh, gap
}
