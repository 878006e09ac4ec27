package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Cell is one cell of a table, with its colour.
type Cell struct {
	Text   string
	Colour Colour
}

// Row makes cells without a colour.
func Row(words ...string) []Cell {
	row := make([]Cell, len(words))
	for i, word := range words {
		row[i] = Cell{Text: word}
	}
	return row
}

// Head makes the first row of a table.
func Head(words ...string) []Cell {
	row := Row(words...)
	for i := range row {
		row[i].Colour = Bold
	}
	return row
}

// Age returns a duration in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Span returns a duration without its zero parts: 1h30m.
func Span(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// List writes a table with one thing per row, cut to the terminal's width. Without a terminal it cuts nothing.
func (o *Output) List(rows [][]Cell) {
	if width := o.Width(); width > 0 {
		rows = Fit(rows, width)
	}
	o.Table("", rows)
}

// narrowest is the width below which no column is cut.
const narrowest = 8

// Fit cuts cells of the widest columns until the rows fit into width, as far as possible.
func Fit(rows [][]Cell, width int) [][]Cell {
	fitted := make([][]Cell, len(rows))
	var widths []int
	for i, row := range rows {
		fitted[i] = slices.Clone(row)
		for j := range row {
			fitted[i][j].Text = flat(row[j].Text)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(fitted[i][j].Text))
		}
	}
	room := width - 2*(len(widths)-1)
	shrink(widths, room, lastCounts)
	shrink(widths, room, 0)
	for _, row := range fitted {
		for j := range row {
			row[j].Text = Cut(row[j].Text, widths[j])
		}
	}
	return fitted
}

// lastCounts is how much wider than the others the last column may be before it is cut: it says the most.
const lastCounts = 12

// shrink takes columns from the widest until the sum is at most room. It counts the last column as narrower than it is,
// by last.
func shrink(widths []int, room, last int) {
	total := 0
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest, most := -1, narrowest
		for j, width := range widths {
			if j == len(widths)-1 {
				width -= last
			}
			if width > most {
				widest, most = j, width
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// Cut returns the beginning of a text that fits into width, with a mark at the place of the cut.
func Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

// Table writes aligned columns. Colours do not count for the width. The last cell of a row gets no space after it.
func (o *Output) Table(indent string, rows [][]Cell) {
	widths := map[int]int{}
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for j := range row {
			rows[i][j].Text = flat(row[j].Text)
		}
	}
	for _, row := range rows {
		for i, cell := range row[:max(0, len(row)-1)] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range rows {
		io.WriteString(o, indent)
		for i, cell := range row {
			fmt.Fprint(o, o.Paint(cell.Colour, cell.Text))
			if i < len(row)-1 {
				fmt.Fprint(o, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+2))
			}
		}
		fmt.Fprintln(o)
	}
}
