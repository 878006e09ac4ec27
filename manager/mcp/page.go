package mcp

import (
	"encoding/json"
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
	object  string // the structure of Object or JSON; a part of its own, before the text
	text    strings.Builder
	strange bool   // there is a stranger's text on it
	field   string // of the structure of JSON that holds strangers' text, if one does
	room    int    // for strangers' text, in bytes of JSON
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

// Why is an error in one line: words of ours with the next step, and quoted what may be a stranger's.
func (d *Desk) Why(err error) string {
	t := d.s.trouble(err)
	said := t.Text
	if t.Next != "" && hasNext(err) {
		said += "; " + t.Next
	}
	if t.Strange.text != "" {
		said += ": " + words(t.Strange.text)
	}
	return said
}

// hasNext says of an error whether its next step is for users of any set: the host's, a budget's, or that the host is not there.
func hasNext(err error) bool {
	_, refused := errors.AsType[*delegation.Refusal](err)
	_, mistaken := errors.AsType[*mistake](err)
	return refused || mistaken || errors.Is(err, manager.ErrNobodyServing)
}

// Object makes a structure the first part of the answer, as a text of JSON. What strangers' texts are in it must have come from Field.
func (p *Page) Object(value any) (*Page, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	p.object = strings.TrimSuffix(text.String(), "\n")
	return p, nil
}

// Structure is what Object has made.
func (p *Page) Structure() string { return p.object }

// Field makes a stranger's text fit for a field of a structure, and returns how many bytes of it found room.
func (p *Page) Field(text string, limit int) (string, int) {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	return quoted.text, used
}

// Room is how many bytes of strangers' text there is still room for.
func (p *Page) Room() int { return p.room }

// say is the text, with a note where a stranger speaks in it.
func (p *Page) say() string {
	if !p.strange {
		return p.text.String()
	}
	if p.field != "" {
		return p.text.String() + "The texts in " + p.field + ", and lines behind a bar (|), " + noteRest
	}
	if p.object != "" {
		return strings.TrimPrefix(strings.TrimSuffix(p.text.String(), "\n")+"\n\n", "\n\n") + noteObject
	}
	return strings.TrimSuffix(p.text.String(), "\n") + "\n\n" + notePage
}

// notePage stands below a page with a stranger's text.
const notePage = "Lines behind a bar (|), and what follows untrusted:, " + noteRest

// noteObject stands behind a structure with a stranger's text.
const noteObject = "answer, result, task and error of a subagent, and what stands between <answer> and </answer>, " + noteRest

func (p *Page) result() *sdk.CallToolResult {
	result := &sdk.CallToolResult{IsError: p.failed}
	for _, part := range []string{p.code, p.object, p.say()} {
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
