package keeper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Place is how far both streams were had. Its text is "OUT.ERR"; "" is the beginning.
type Place struct{ Out, Err int64 }

// ParsePlace reads a place.
func ParsePlace(text string) (Place, error) {
	if text == "" {
		return Place{}, nil
	}
	out, errs, _ := strings.Cut(text, ".")
	o, err1 := strconv.ParseInt(out, 10, 64)
	e, err2 := strconv.ParseInt(errs, 10, 64)
	p := Place{o, e}
	if errors.Join(err1, err2) != nil || o < 0 || e < 0 || p.String() != text {
		return Place{}, fmt.Errorf("%q is no place in a sandbox's output", text)
	}
	return p, nil
}

func (p Place) String() string {
	return strconv.FormatInt(p.Out, 10) + "." + strconv.FormatInt(p.Err, 10)
}

// of is the place in one stream.
func (p *Place) of(k Kind) *int64 {
	if k == Stderr {
		return &p.Err
	}
	return &p.Out
}

// take moves the place behind a frame. It returns what is new in it, and whether something before it is missing.
func (p *Place) take(f Frame) (fresh []byte, gap bool) {
	at := p.of(f.Kind)
	end := f.Offset + int64(len(f.Bytes))
	if end <= *at {
		return nil, false
	}
	fresh, gap = f.Bytes[max(*at-f.Offset, 0):], f.Offset > *at
	*at = end
	return fresh, gap
}
