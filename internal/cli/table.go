package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Cell is a word of a table and its colour.
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

// Age is a time in its largest unit.
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

// Table writes aligned columns. The colours do not count for the width, and the last cell of a row has no space after it.
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
