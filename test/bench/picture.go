package main

import (
	"fmt"
	"html"
	"strings"
)

// The picture's measures, in its own units.
const (
	width, labels, row = 760, 330, 26
	scale              = width - labels - 90 // of the longest bar
)

// bars draws the figures that are bars, one below the other: how long until the work of a child that does nothing is there. The thin
// line reaches to what 95 of a hundred were not above.
func bars(r Report) string {
	var drawn []Figure
	longest := 0.0
	for _, s := range r.Series {
		for _, f := range s.Figures {
			if f.Bar {
				drawn, longest = append(drawn, f), max(longest, f.Value, f.P95)
			}
		}
	}
	height := (len(drawn)+2)*row + 10
	svg := paper(height, "How long a child that does nothing takes, in milliseconds")
	for i, bar := range drawn {
		y := row*i + 16
		fill := "#b8b2a6"
		if strings.HasPrefix(bar.Says, "Torno") {
			fill = "#2f6f5e"
		}
		long, to := bar.Value/longest*scale, max(bar.P95, bar.Value)/longest*scale
		fmt.Fprintf(svg, `<text x="%d" y="%d" text-anchor="end" fill="#333">%s</text>`, labels-10, y+13, html.EscapeString(bar.Says))
		fmt.Fprintf(svg, `<rect x="%d" y="%d" width="%.1f" height="16" rx="2" fill="%s"/>`, labels, y, max(long, 1), fill)
		fmt.Fprintf(svg, `<path d="M%.1f %d H%.1f" stroke="#333" stroke-width="1"/>`, labels+long, y+8, labels+to)
		fmt.Fprintf(svg, `<text x="%.1f" y="%d" fill="#333">%s</text>`+"\n", labels+to+6, y+13, number(bar.Value, "ms-"))
	}
	return r.Machine.sign(svg, height, "medians, taken in turn, and to p95")
}

// roads draws where the time of a run goes, for each series that says so.
func roads(r Report) string {
	shades := []string{"#8c6d31", "#b8b2a6", "#4f81a3", "#2f6f5e", "#c26d4b", "#5b4a7a"}
	longest, lanes := 0.0, 0
	for _, s := range r.Series {
		if whole := sum(s.parts()); whole > 0 {
			longest, lanes = max(longest, whole), lanes+1
		}
	}
	const lane = 4 * row
	height := lanes*lane + 2*row
	svg := paper(height, "Where the time of a run goes, in milliseconds")
	y := 0
	for _, s := range r.Series {
		parts := s.parts()
		if len(parts) == 0 {
			continue
		}
		fmt.Fprintf(svg, `<text x="16" y="%d" fill="#333">%s: %s</text>`+"\n", y+24, html.EscapeString(s.Title), number(sum(parts), "ms-"))
		x := 16.0
		for i, part := range parts {
			long := part.Value / longest * (width - 32)
			fmt.Fprintf(svg, `<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>`+"\n", x, y+34, max(long, 0.5), shades[i%len(shades)])
			column := 16 + i%3*250
			line := y + 68 + i/3*18
			fmt.Fprintf(svg, `<rect x="%d" y="%d" width="9" height="9" fill="%s"/><text x="%d" y="%d" font-size="11" fill="#333">%s %s</text>`+"\n",
				column, line-9, shades[i%len(shades)], column+14, line, html.EscapeString(part.Says), number(part.Value, part.Unit))
			x += long
		}
		y += lane
	}
	return r.Machine.sign(svg, height, "the median of each part")
}

// parts are a series' parts of the road.
func (m Measured) parts() (parts []Figure) {
	for _, f := range m.Figures {
		if f.Part {
			parts = append(parts, f)
		}
	}
	return parts
}

func sum(parts []Figure) (whole float64) {
	for _, part := range parts {
		whole += part.Value
	}
	return whole
}

// paper begins a picture.
func paper(height int, title string) *strings.Builder {
	svg := &strings.Builder{}
	fmt.Fprintf(svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(svg, "<title>%s</title>\n", title)
	fmt.Fprintf(svg, `<rect width="%d" height="%d" rx="8" fill="#fdfcf9"/>`+"\n", width, height)
	return svg
}

// sign says below a picture where and when it was measured, and ends it.
func (m Machine) sign(svg *strings.Builder, height int, what string) string {
	fmt.Fprintf(svg, `<text x="16" y="%d" font-size="11" fill="#777">%s; %s, %d processors, Docker %s, %s; make bench</text>`+"\n",
		height-14, what, html.EscapeString(m.System), m.CPUs, html.EscapeString(m.Engine), m.At.Format("2006-01-02"))
	svg.WriteString("</svg>\n")
	return svg.String()
}
