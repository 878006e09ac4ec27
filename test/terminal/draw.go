package main

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The picture's measures, in tenths of a pixel, so that no rounding can differ.
const (
	cell   = 84
	height = 200
	edge   = 160
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img">
<title>A terminal: children are started, refused and brought home</title>
<!-- Made by go run ./test/terminal draw -->
<style>
rect{fill:#16181d}
text{fill:#d5d8de;font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}
.typed,.bold{fill:#fff}.bold{font-weight:bold}.prompt,.green{fill:#7ec98a}.remark,.dim{fill:#8a909c}.red{fill:#ec7a75}.yellow{fill:#e0c06c}
.cover{opacity:0}
@media (prefers-reduced-motion:no-preference){
`

// draw makes the picture of a session.
func draw(session []event) (string, error) {
	s, err := play(session)
	if err != nil {
		return "", err
	}
	var rules, body strings.Builder
	shown := map[int]bool{}
	for _, p := range s.pieces {
		if !shown[p.at] {
			shown[p.at] = true
			appears(&rules, p.at, s.now)
		}
		x, y := edge+p.column*cell, edge+p.row*height
		width := len([]rune(p.text)) * cell
		fmt.Fprintf(&body, `<text class="a%d %s" x="%s" y="%s" textLength="%s">`, p.at, p.style, tenths(x), tenths(y+150), tenths(width))
		_ = xml.EscapeText(&body, []byte(p.text)) // a Builder takes all
		body.WriteString("</text>\n")
		if p.typed {
			uncovers(&rules, p, width, s.now)
			fmt.Fprintf(&body, `<rect class="cover c%d" x="%s" y="%s" width="%s" height="20"/>`+"\n", p.at, tenths(x), tenths(y), tenths(width))
		}
	}
	wide, high := tenths(2*edge+columns*cell), tenths(2*edge+(s.row+1)*height)
	return fmt.Sprintf(head, wide, high) + rules.String() + "}\n</style>\n" +
		fmt.Sprintf(`<rect width="%s" height="%s" rx="8"/>`, wide, high) + "\n" + body.String() + "</svg>\n", nil
}

// appears has what comes at one time be there from then on.
func appears(to *strings.Builder, at, end int) {
	if at == 0 {
		return // it is there from the beginning
	}
	fmt.Fprintf(to, "@keyframes a%d{0%%{opacity:0}%s{opacity:1}to{opacity:1}}.a%[1]d{animation:a%[1]d %[3]dms step-end infinite}\n", at, share(at, end), end)
}

// uncovers moves the cover of a typed line to the right, one key after the other, and takes it away.
func uncovers(to *strings.Builder, p piece, width, end int) {
	keys := len([]rune(p.text))
	done := p.at + perKey*keys
	fmt.Fprintf(to, "@keyframes c%d{0%%{opacity:1}%s{opacity:1;transform:translateX(0);animation-timing-function:steps(%d)}"+
		"%s{opacity:1;transform:translateX(%spx);animation-timing-function:step-end}%s{opacity:0}to{opacity:0}}.c%[1]d{animation:c%[1]d %[7]dms step-end infinite}\n",
		p.at, share(p.at, end), keys, share(done, end), tenths(width), share(done+1, end), end)
}

// share is a time as a share of the whole, with four digits behind the point.
func share(at, end int) string {
	millionths := at * 1_000_000 / end
	return fmt.Sprintf("%d.%04d%%", millionths/10_000, millionths%10_000)
}

func tenths(n int) string {
	if n%10 == 0 {
		return fmt.Sprint(n / 10)
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}
