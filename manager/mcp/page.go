package mcp

import (
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/delegation"
	"torno/manager"
)

// Page is the answer of a tool of a Set: text alone, as the systems have it from which such tools come. Printf takes our own words. What
// a child wrote goes through Quote, Cell or Trouble, and a note then says that it is the child's.
type Page struct {
	code    string // of a failure; a part of its own, before the text
	failed  bool
	text    strings.Builder
	strange bool // there is a stranger's text on it
	room    int  // for strangers' text, in bytes of JSON
}

// Page begins an answer.
func (d *Desk) Page() *Page { return &Page{room: maxAnswers} }

// Fail begins an answer that says what failed. A code is a part of its own before the text; "" is none.
func (d *Desk) Fail(code string) *Page { return &Page{room: maxAnswers, code: code, failed: true} }

// Printf adds words of ours. An argument that may hold another's must have passed Words.
func (p *Page) Printf(format string, args ...any) *Page {
	fmt.Fprintf(&p.text, format, args...)
	return p
}

// Quote adds a stranger's text, each line of it behind a bar, and returns how many bytes of it found room.
func (p *Page) Quote(text string, limit int) int {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	p.text.WriteString(quoted.lines())
	return used
}

// Cell adds the beginning of a stranger's text as a cell of a table, which it cannot leave.
func (p *Page) Cell(text string, characters int) {
	line := strings.Join(strings.Fields(text), " ")
	cell := cellOf(line, characters)
	for characters > 0 && sizeInJSON(cell.text) > p.room {
		characters /= 2
		cell = cellOf(line, characters)
	}
	if sizeInJSON(cell.text) > p.room {
		cell.text = ""
	}
	p.tookRoom(cell)
	fmt.Fprintf(&p.text, "untrusted: %s", cell.text)
}

// cellOf is the first characters of a line as they stand in a cell. A character takes at most a dozen bytes.
func cellOf(line string, characters int) foreign {
	quoted := quoteAll(beginning(line, characters), 12*(characters+1))
	return foreign{strings.ReplaceAll(quoted.text, "|", `\u{7c}`)}
}

func (p *Page) tookRoom(quoted foreign) {
	p.room = max(0, p.room-sizeInJSON(quoted.text))
	p.strange = p.strange || quoted.text != ""
}

// beginning is the first characters of a text, with a sign where there are more.
func beginning(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i] + "…"
		}
		characters--
	}
	return text
}

// Trouble adds an error, with its next step where that is not one of our own tools.
func (p *Page) Trouble(d *Desk, err error) *Page {
	t := d.s.trouble(err)
	p.text.WriteString(t.Text)
	if t.Next != "" && hasNext(err) {
		p.text.WriteString("; " + t.Next)
	}
	if t.Strange.text != "" {
		p.text.WriteString("\n" + t.Strange.lines())
		p.strange = true
	}
	return p
}

// hasNext says of an error whether its next step is for users of any set: the host's, a budget's, or that the host is not there.
func hasNext(err error) bool {
	_, refused := errors.AsType[*delegation.Refusal](err)
	_, mistaken := errors.AsType[*mistake](err)
	return refused || mistaken || errors.Is(err, manager.ErrNobodyServing)
}

// say is the text, with a note where a stranger speaks in it.
func (p *Page) say() string {
	if !p.strange {
		return p.text.String()
	}
	return strings.TrimSuffix(p.text.String(), "\n") + "\n\n" + notePage
}

// notePage stands below a page with a stranger's text.
const notePage = "Lines behind a bar (|), and what follows untrusted:, " + noteRest

func (p *Page) result() *sdk.CallToolResult {
	result := &sdk.CallToolResult{IsError: p.failed}
	for _, part := range []string{p.code, p.say()} {
		if part != "" {
			result.Content = append(result.Content, &sdk.TextContent{Text: part})
		}
	}
	return result
}

// Append adds what stands on another page of the same answer.
func (p *Page) Append(other *Page) *Page {
	p.text.WriteString(other.text.String())
	p.strange = p.strange || other.strange
	return p
}
