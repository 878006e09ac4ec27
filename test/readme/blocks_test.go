package readme

import (
	"strings"
)

// block is one fenced block of a page.
type block struct {
	page string // as README.md or docs/CLIENT.md
	line int    // of its fence
	info string // what stands behind the fence, such as sh
	text string
}

// first is the block's first line, by which the tests know it.
func (b block) first() string {
	line, _, _ := strings.Cut(b.text, "\n")
	line, _, _ = strings.Cut(line+" ", " # ")
	return strings.TrimSpace(line)
}

// shell says whether the block is meant to be typed into a shell.
func (b block) shell() bool { return b.info == "sh" }

// looksTyped says whether a block that is not marked as one of a shell begins a line with a program of ours.
func (b block) looksTyped() bool {
	for line := range strings.Lines(b.text) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "sudo "), " ")
		if name == "watcher" || name == "make" || name == "subagent" && !strings.Contains(b.text, "►") { // the picture of the road
			return b.info == ""
		}
	}
	return false
}

// blocks are the fenced blocks of a page, also indented ones.
func blocks(page, text string) (all []block) {
	var open *block
	number := 0
	for line := range strings.Lines(text) {
		number++
		info, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{page: page, line: number, info: info}
		case isFence:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line
		}
	}
	if open != nil { // what is not closed is shown, so that the table misses it
		all = append(all, *open)
	}
	return all
}
