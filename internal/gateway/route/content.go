package route

import (
	"errors"
	"slices"
	"strings"
)

// maxNesting bounds how deep blocks of a message may lie in each other.
const maxNesting = 8

var errReach = &Refusal{
	Status: 400, Code: CodeReach,
	Text: "this route has no content by address: the upstream would fetch it for a child without a network; send the data itself",
}

var errStored = &Refusal{
	Status: 400, Code: CodeReach,
	Text: "this route has no content that the upstream stores (an earlier response, a conversation, a file): " +
		"it may be another run's, and what it costs is not known before; send the content itself",
}

// content walks through the conversation of one body. It looks for three things: addresses, which the upstream would fetch, and
// each of which is a message to its host; names of what the upstream stores; and content that
// may cost more tokens than it has bytes.
type content struct {
	api          API
	urls, stored bool // allowed by the route's reach
	images       int64
	unmeasured   bool
}

// storedFields are members of a body that name what the upstream stores.
var storedFields = map[API][]string{
	OpenAIResponses: {"previous_response_id", "conversation"},
	Google:          {"cached_content"},
}

// judgeContent walks only where the API has content: a tool's input may hold any address.
func (r *Route) judgeContent(body object, over []glob, e *Exchange) error {
	c := &content{api: r.API, urls: r.reaches("urls"), stored: r.reaches("stored")}
	for _, field := range storedFields[r.API] {
		if body.get(field) != nil {
			if err := c.storedThere(); err != nil {
				return err
			}
		}
	}
	lists := map[API][]string{
		Anthropic: {"messages"}, Bedrock: {"messages"}, OpenAIChat: {"messages"}, OpenAIResponses: {"input"},
		Google: {"contents", "system_instruction"},
	}[r.API]
	for _, key := range lists {
		if err := c.walk("", body.get(key), 0); err != nil {
			return asRefusal(err)
		}
	}
	e.Images = c.images
	e.Unmeasured = c.unmeasured || r.API == Bedrock && !converses(over) && !strings.Contains(e.Model, "anthropic")
	return nil
}

func asRefusal(err error) error {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r
	}
	return bad(CodeBody, "%s", err.Error())
}

// walk looks through one block or a list of them. kind is the key below which they lie.
func (c *content) walk(kind string, raw []byte, depth int) error {
	blocks := [][]byte{raw}
	if len(raw) == 0 || raw[0] != '{' {
		var err error
		if blocks, err = elements(raw); err != nil {
			return err
		}
	}
	if depth > maxNesting {
		return errors.New("the content is nested too deeply")
	}
	for _, one := range blocks {
		if len(one) == 0 || one[0] != '{' {
			continue
		}
		block, err := parseObject(one)
		if err != nil {
			return err
		}
		if err := c.block(kind, block, depth); err != nil {
			return err
		}
	}
	return nil
}

// block looks at each member of a message, of its content, or of what lies in that.
func (c *content) block(kind string, block object, depth int) error {
	if c.api == OpenAIResponses && refers(block) {
		if err := c.storedThere(); err != nil {
			return err
		}
	}
	if c.api == Anthropic || c.api == Bedrock && kind == "content" && block.find("type") != nil {
		kind, _ = block.getString("type") // of another type than text it is nothing that is known
	}
	for _, m := range block.members {
		if err := c.member(kind, m.folded, block.text[m.begin:m.end], depth); err != nil {
			return err
		}
	}
	return nil
}

// refers says whether an item of the Responses API is only the name of a stored item. Its type may be left out.
func refers(item object) bool {
	if item.find("id") == nil {
		return false
	}
	return !slices.ContainsFunc(item.members, func(m member) bool { return m.folded != "id" && m.folded != "type" && m.folded != "status" })
}

// below are the keys below which an API has content that lies in content.
var below = map[API][]string{
	Anthropic:       {"content"},
	Bedrock:         {"content", "image", "document", "video", "audio", "toolresult", "guardcontent"},
	OpenAIChat:      {"content", "file", "inputaudio", "audio"},
	OpenAIResponses: {"content", "output", "file", "inputaudio"},
	Google:          {"content", "parts", "functionresponse"},
}

// member looks at one member of a block: an address, a name, data, or what may hold one.
func (c *content) member(kind, key string, value []byte, depth int) error {
	openai := c.api == OpenAIChat || c.api == OpenAIResponses
	switch {
	case string(value) == "null":
		return nil
	case key == "fileid", openai && kind == "audio" && key == "id":
		return c.storedThere()
	case openai && strings.HasSuffix(key, "url"):
		return c.address(key, value)
	case openai && (key == "filedata" || kind == "inputaudio" && key == "data"):
		c.unmeasured = true
		return c.data(value)
	case c.api == OpenAIResponses && key == "result" && value[0] == '"':
		c.images++ // an image that the upstream made earlier
	case c.api == Google && key == "inlinedata":
		return c.inline(value)
	case c.api == Google && key == "filedata":
		c.unmeasured = true
		return c.addressThere()
	case key == "source" && (c.api == Anthropic || c.api == Bedrock):
		return c.source(kind, value, depth)
	case slices.Contains(below[c.api], key):
		return c.walk(key, value, depth+1)
	}
	return nil
}

func (c *content) addressThere() error {
	if c.urls {
		return nil
	}
	return errReach
}

func (c *content) storedThere() error {
	c.unmeasured = true
	if c.stored {
		return nil
	}
	return errStored
}

// address is that of an image, or of something else if its key says so. Data that stands in the address itself is fetched from
// nowhere.
func (c *content) address(key string, value []byte) error {
	if value[0] == '{' {
		inner, err := parseObject(value)
		if err != nil {
			return err
		}
		value = inner.get("url")
	}
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	c.images++
	switch {
	case !strings.HasPrefix(string(value), `"data:`):
		c.unmeasured = true
		return c.addressThere()
	case key != "imageurl" || !strings.HasPrefix(string(value), `"data:image/`):
		c.unmeasured = true
	}
	return nil
}

// data is base64, or an address of data. Some upstreams fetch any other address.
func (c *content) data(value []byte) error {
	text := strings.ReplaceAll(string(value), `\/`, "/") // the only escape that base64 has
	if strings.HasPrefix(text, `"data:`) || text[0] == '"' && !strings.ContainsAny(text, `:\`) {
		return nil
	}
	return c.addressThere()
}

// inline is Google's data with its type.
func (c *content) inline(value []byte) error {
	if value[0] != '{' {
		return errors.New("there is data without a type")
	}
	inner, err := parseObject(value)
	if err != nil {
		return err
	}
	if kind, err := inner.getString("mime_type"); err != nil || !strings.HasPrefix(kind, "image/") {
		c.unmeasured = true
	}
	c.images++
	return nil
}

// source is of an image or a document: bytes, a text, blocks, a file that is stored, or an address.
func (c *content) source(kind string, value []byte, depth int) error {
	if value[0] != '{' {
		return nil
	}
	source, err := parseObject(value)
	if err != nil {
		return err
	}
	word, err := source.getString("type")
	if err != nil || word == "url" || source.find("url") != nil || source.find("s3Location") != nil {
		c.unmeasured = true
		if err := c.addressThere(); err != nil {
			return err
		}
	}
	if word == "file" {
		if err := c.storedThere(); err != nil {
			return err
		}
	}
	if source.find("bytes") != nil || source.find("data") != nil && word != "text" {
		c.images++
		c.unmeasured = c.unmeasured || kind != "image"
	}
	return c.walk("source", value, depth+1)
}
