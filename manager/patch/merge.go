package patch

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// merge combines the changes of both sides to a file, if they changed different lines. It returns nil if they did not.
func (p *Plan) merge(ctx context.Context, c *Change, today *Entry) (*Entry, error) {
	if c.Before == nil || c.After == nil || today == nil || c.Before.Kind != File || c.After.Kind != File || today.Kind != File {
		return nil, nil
	}
	before, ok, err := p.work.before(c)
	if err != nil || !ok {
		return nil, err
	}
	theirs, ok, err := p.work.after(c)
	if err != nil || !ok {
		return nil, err
	}
	ours, ok, err := p.to.text(c.Path)
	if err != nil || !ok || digestOf(ours) != today.Digest {
		return nil, err
	}
	text, ok := mergeLines(before, theirs, ours)
	if !ok {
		return nil, nil
	}
	// Apply may run again on its own result. If a second merge would change that result, the child's lines would be there
	// twice. That is a conflict.
	if again, ok := mergeLines(before, theirs, text); !ok || !bytes.Equal(again, text) {
		return nil, nil
	}
	e := &Entry{Path: c.Path, Kind: File, Exec: today.Exec}
	if c.After.Exec != c.Before.Exec {
		e.Exec = c.After.Exec
	}
	e.Digest, e.Size, err = p.work.stage.take(ctx, bytes.NewReader(text), 4*maxText)
	return e, err
}

// edit replaces the lines from..to of a text.
type edit struct {
	from, to int
	lines    []string
}

// mergeLines applies the edits of both sides to a text. It fails if two edits touch each other and are not the same.
func mergeLines(base, a, b []byte) ([]byte, bool) {
	lines := splitLines(base)
	left, right := edits(lines, splitLines(a)), edits(lines, splitLines(b))
	var out strings.Builder
	at := 0
	for len(left) > 0 || len(right) > 0 {
		var next edit
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].to < right[0].from:
			next, left = left[0], left[1:]
		case len(left) == 0 || right[0].to < left[0].from:
			next, right = right[0], right[1:]
		case left[0].from == right[0].from && left[0].to == right[0].to && slices.Equal(left[0].lines, right[0].lines):
			next, left, right = left[0], left[1:], right[1:]
		default:
			return nil, false
		}
		out.WriteString(strings.Join(lines[at:next.from], ""))
		out.WriteString(strings.Join(next.lines, ""))
		at = next.to
	}
	out.WriteString(strings.Join(lines[at:], ""))
	return []byte(out.String()), true
}

func splitLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// edits returns the edits that turn a into b.
func edits(a, b []string) (all []edit) {
	x, y := 0, 0
	for _, m := range append(matches(a, b, 0, 0, 0), match{len(a), len(b), 0}) {
		if m.a > x || m.b > y {
			all = append(all, edit{x, m.a, b[y:m.b]})
		}
		x, y = m.a+m.length, m.b+m.length
	}
	return all
}

// match is a run of lines that two texts share.
type match struct{ a, b, length int }

// maxAnchoring bounds how many times a part between anchors is searched for anchors of its own.
const maxAnchoring = 16

// matches finds runs that two texts share, in order: at the beginning, at the end, and around the lines that occur only
// once in each. atA and atB are the positions of a and b in the whole texts.
func matches(a, b []string, atA, atB, depth int) []match {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []match
	if head > 0 {
		all = append(all, match{atA, atB, head})
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if depth < maxAnchoring && len(midA) > 0 && len(midB) > 0 {
		all = append(all, between(midA, midB, atA+head, atB+head, depth)...)
	}
	if tail > 0 {
		all = append(all, match{atA + len(a) - tail, atB + len(b) - tail, tail})
	}
	return all
}

// between finds the runs around the anchors of two texts.
func between(a, b []string, atA, atB, depth int) (all []match) {
	x, y := 0, 0
	found := anchors(a, b)
	if len(found) == 0 {
		return nil
	}
	for _, m := range append(found, match{len(a), len(b), 0}) {
		all = append(all, matches(a[x:m.a], b[y:m.b], atA+x, atB+y, depth+1)...)
		if m.length > 0 {
			all = append(all, match{atA + m.a, atB + m.b, 1})
		}
		x, y = m.a+m.length, m.b+m.length
	}
	return all
}

// anchors returns lines that occur exactly once in each of two texts. If their order differs, it returns as many as are
// in the same order in both.
func anchors(a, b []string) []match {
	type place struct{ a, b, times int }
	places := map[string]*place{}
	for i, line := range a {
		if p := places[line]; p != nil {
			p.times = 9
			continue
		}
		places[line] = &place{i, -1, 1}
	}
	var both []match
	for j, line := range b {
		if p := places[line]; p != nil {
			p.times++
			p.b = j
		}
	}
	for i, line := range a {
		if p := places[line]; p.times == 2 && p.b >= 0 {
			both = append(both, match{i, p.b, 1})
		}
	}
	return increasing(both)
}

// increasing returns a longest part of the matches that is in the order of b. The matches are given in the order of a.
func increasing(all []match) []match {
	var ends []int // by length - 1: the match with the least b among the last matches of parts with that length
	before := make([]int, len(all))
	for i, m := range all {
		at, _ := slices.BinarySearchFunc(ends, m.b, func(end, b int) int { return all[end].b - b })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	part := make([]match, len(ends))
	for i, at := ends[len(ends)-1], len(ends)-1; i >= 0; i, at = before[i], at-1 {
		part[at] = all[i]
	}
	return part
}
