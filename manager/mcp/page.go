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

// Page is the answer of a tool of a Set. It is text only, like the answers of the systems that such tools come from.
// Printf takes our own words. A child's text must go through Quote, Cell or Trouble. Then a note says that it is the
// child's.
type Page struct {
	code    string // of a failure; a separate part before the text
	failed  bool
	object  string // from Object or JSON; a separate part before the text
	text    strings.Builder
	strange bool   // there is a stranger's text on the page
	field   string // the field of JSON's structure that holds strangers' text, if any
	room    int    // for strangers' text, in bytes of JSON
}

// Page begins an answer.
func (d *Desk) Page() *Page { return &Page{room: maxAnswers} }

// Fail begins an answer that reports a failure. The code is a separate part before the text; "" means no code.
func (d *Desk) Fail(code string) *Page { return &Page{room: maxAnswers, code: code, failed: true} }

// Printf adds our own words. An argument that may contain others' text must have passed Words.
func (p *Page) Printf(format string, args ...any) *Page {
	fmt.Fprintf(&p.text, format, args...)
	return p
}

// Quote adds a stranger's text, each line behind a bar. It returns how many bytes of the text found room.
func (p *Page) Quote(text string, limit int) int {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	p.text.WriteString(quoted.lines())
	return used
}

// Cell adds the beginning of a stranger's text as a table cell. The text cannot leave the cell.
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

// cellOf returns the first characters of a line, escaped for a cell. A character takes at most a dozen bytes.
func cellOf(line string, characters int) foreign {
	quoted := quoteAll(beginning(line, characters), 12*(characters+1))
	return foreign{strings.ReplaceAll(quoted.text, "|", `\u{7c}`)}
}

func (p *Page) tookRoom(quoted foreign) {
	p.room = max(0, p.room-sizeInJSON(quoted.text))
	p.strange = p.strange || quoted.text != ""
}

// beginning returns the first characters of a text, with a mark if there are more.
func beginning(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i] + "…"
		}
		characters--
	}
	return text
}

// Trouble adds an error. It adds the next step too, unless that is a step for one of our own tools.
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

// Why returns an error in one line: our own words with the next step. It quotes everything that may be a stranger's.
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

// hasNext reports whether the next step of an error suits users of any set. Such a step comes from the host or from a
// budget, or says that the host is not there.
func hasNext(err error) bool {
	_, refused := errors.AsType[*delegation.Refusal](err)
	_, mistaken := errors.AsType[*mistake](err)
	return refused || mistaken || errors.Is(err, manager.ErrNobodyServing)
}

// Object makes a structure the first part of the answer, as JSON text. Strangers' texts in it must have come from
// Field.
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

// Structure returns the JSON text that Object has made.
func (p *Page) Structure() string { return p.object }

// Field makes a stranger's text fit for a field of a structure. It returns how many bytes of the text found room.
func (p *Page) Field(text string, limit int) (string, int) {
	quoted, used := quote([]byte(text), min(limit, p.room))
	p.tookRoom(quoted)
	return quoted.text, used
}

// Room returns how many bytes of strangers' text still find room.
func (p *Page) Room() int { return p.room }

// say returns the text, with a note if it contains a stranger's words.
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
const notePage = "Lines behind a bar (|), and the text after untrusted:, " + noteRest

// noteObject stands after a structure with a stranger's text.
const noteObject = "answer, result, task and error of a subagent, and the text between <answer> and </answer>, " + noteRest

func (p *Page) result() *sdk.CallToolResult {
	result := &sdk.CallToolResult{IsError: p.failed}
	for _, part := range []string{p.code, p.object, p.say()} {
		if part != "" {
			result.Content = append(result.Content, &sdk.TextContent{Text: part})
		}
	}
	return result
}

// Append adds the text of another page of the same answer.
func (p *Page) Append(other *Page) *Page {
	p.text.WriteString(other.text.String())
	p.strange = p.strange || other.strange
	return p
}
