package route

import (
	"errors"
	"slices"
	"strings"
)

// maxNesting bounds how deep the blocks of a message may be nested.
const maxNesting = 8

var errReach = &Refusal{
	Status: 400, Code: CodeReach,
	Text: "this route has no content by address: the upstream would fetch it for a child without a network; send the data itself",
}

var errStored = &Refusal{
	Status: 400, Code: CodeReach,
	Text: "this route has no content that the upstream stores (an earlier response, a conversation, a file): " +
		"it may belong to another run, and its cost is not known in advance; send the content itself",
}

// content walks through the conversation of one body. It looks for three things: addresses, because the upstream would
// fetch each of them, and each is a message to its host; names of content that the upstream stores; and content that
// may cost more tokens than it has bytes.
type content struct {
	reacher
	api          API
	urls, stored bool // the route's reach allows them
	images       int64
	unmeasured   bool
}

// storedFields are members of a body that name something the upstream stores.
var storedFields = map[API][]string{
	OpenAIResponses: {"previous_response_id", "conversation"},
	OpenAIChat: { // some servers of this dialect have these
		"previous_response_id", "conversation", "conversation_id", "thread_id", "assistant_id", "cached_content",
	},
	Google: {"cached_content"},
}

// judgeContent looks only at the places where the API has content, because a tool's input may hold any address.
func (w reacher) judgeContent(body object, over []glob) error {
	r, e := w.route, w.e
	c := &content{reacher: w, api: r.API, urls: r.reaches("urls"), stored: r.reaches("stored")}
	for _, field := range storedFields[r.API] {
		if body.get(field) != nil {
			if err := c.storedThere(); err != nil {
				return err
			}
		}
	}
	if r.API == Bedrock && strings.Contains(e.Model, ":prompt/") { // a stored prompt, which names its own model
		if err := c.storedThere(); err != nil {
			return err
		}
	}
	lists := map[API][]string{
		Anthropic: {"messages", "system"}, Bedrock: {"messages", "system"}, OpenAIChat: {"messages"}, OpenAIResponses: {"input"},
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

// walk looks through one block or a list of blocks. kind is the key that holds them.
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

// block looks at each member of a message, of its content, or of a block in that content.
func (c *content) block(kind string, block object, depth int) error {
	if c.api == OpenAIResponses && depth == 0 {
		if err := c.item(block); err != nil {
			return err
		}
	}
	if c.api == OpenAIChat && kind == "content" {
		if err := c.part(block); err != nil {
			return err
		}
	}
	if c.api == Anthropic || c.api == Bedrock && kind == "content" && block.find("type") != nil {
		kind, _ = block.getString("type") // if type is not a JSON string, kind is unknown
	}
	for _, m := range block.members {
		if err := c.member(kind, m.folded, block.text[m.begin:m.end], depth); err != nil {
			return err
		}
	}
	return nil
}

// chatParts lists the types that a part of a chat's message may have. Servers of this dialect know other types too, and
// fetch some of those by address.
var chatParts = []string{"text", "image_url", "video_url", "audio_url", "document_url", "input_audio", "file", "refusal", "thinking", "reasoning", "redacted_thinking", "reference", "input_text", "output_text"}

// part refuses a part of a chat's message of an unknown type, unless the route's reach names the type.
func (c *content) part(block object) error {
	kind, err := block.getString("type")
	isText := block.find("type") == nil && len(block.members) == 1 && block.find("text") != nil
	if err == nil && (isText || slices.Contains(chatParts, kind) || kind != "" && c.route.reaches(kind)) {
		return nil
	}
	c.unmeasured = true
	if c.urls {
		return nil
	}
	return bad(CodeReach, "a message has a part of the type %s, which the gateway does not know. The upstream may take it for an address. Send text, image_url, input_audio or file", short(kind))
}

// itemContent names the members that hold the content of an item of the Responses API, by the item's type. One of them
// has to be there. The types are from the vendor's library (ResponseInputItem), and from Codex 0.169.0 (ResponseItem).
var itemContent = map[string][]string{
	"additional_tools":        {"tools"},
	"agent_message":           {"content"},
	"apply_patch_call":        {"operation"},
	"apply_patch_call_output": {"status"},
	"code_interpreter_call":   {"code"},
	"compaction":              {"encrypted_content"},
	"compaction_summary":      {"encrypted_content"},
	"compaction_trigger":      {"type"}, // has no content
	"computer_call":           {"action", "actions"},
	"computer_call_output":    {"output"},
	"configuration_update":    {"reasoning"},
	"context_compaction":      {"encrypted_content"},
	"custom_tool_call":        {"input"},
	"custom_tool_call_output": {"output"},
	"file_search_call":        {"queries"},
	"function_call":           {"arguments"},
	"function_call_output":    {"output"},
	"image_generation_call":   {"result"},
	"local_shell_call":        {"action"},
	"local_shell_call_output": {"output"},
	"mcp_approval_request":    {"arguments"},
	"mcp_approval_response":   {"approve"},
	"mcp_call":                {"arguments"},
	"mcp_list_tools":          {"tools"},
	"message":                 {"content"},
	"reasoning":               {"encrypted_content", "content"}, // an id alone names stored thoughts
	"shell_call":              {"action"},
	"shell_call_output":       {"output"},
	"tool_search_call":        {"arguments"},
	"tool_search_output":      {"tools"},
	"web_search_call":         {"action"},
}

// isEmpty reports whether a text or a list is empty. A tool's output may be empty, but an empty image, or empty
// thoughts, are not content.
func isEmpty(value []byte) bool {
	all, err := elements(value)
	return string(value) == `""` || value[0] == '[' && err == nil && len(all) == 0
}

// item refuses an item of the Responses API that does not hold its own content, because the upstream would take the
// content from its store. Such items are item_reference, an item of an unknown type, and an item of a known type
// without its content. The item's other members do not matter.
func (c *content) item(item object) error {
	has := func(key string) bool {
		m := item.find(key)
		return m != nil && m.key == key && item.get(key) != nil
	}
	kind, err := item.getString("type")
	switch {
	case kind == "" && !has("type") && has("role"):
		kind = "message"
	case err != nil || !has("type"):
		kind = ""
	}
	holds := func(key string) bool {
		sealed := key == "encrypted_content" || key == "result" || kind == "reasoning"
		return has(key) && !(sealed && isEmpty(item.get(key)))
	}
	if slices.ContainsFunc(itemContent[kind], holds) {
		return nil
	}
	c.unmeasured = true
	if c.stored || kind != "" && c.route.reaches(kind) {
		return nil
	}
	do := "Send the content itself"
	if kind == "reasoning" {
		do = "Send its encrypted_content, which a request gets with \"include\": [\"reasoning.encrypted_content\"]"
	}
	return bad(CodeReach, "the input has an item of the type %s that is not its own content: the gateway does not know "+
		"the type, or the item lacks its content. The upstream may take it for the name of stored content, which "+
		"may belong to another run. %s", short(kind), do)
}

// below are the keys, by API, that hold content inside of content.
var below = map[API][]string{
	Anthropic:       {"content"},
	Bedrock:         {"content", "image", "document", "video", "audio", "toolresult", "guardcontent"},
	OpenAIChat:      {"content", "file", "inputaudio", "audio"},
	OpenAIResponses: {"content", "output", "file", "inputaudio"},
	Google:          {"content", "parts", "functionresponse"},
}

// member looks at one member of a block: an address, a name, data, or a value that may hold one of these.
func (c *content) member(kind, key string, value []byte, depth int) error {
	openai := c.api == OpenAIChat || c.api == OpenAIResponses
	switch {
	case string(value) == "null":
		return nil
	case key == "fileid", openai && kind == "audio" && key == "id":
		return c.storedThere()
	case c.api == OpenAIResponses && depth > 0 && key == "id": // a part of an item has no id of its own
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
	case key == "tool" && (c.api == Anthropic || c.api == Bedrock):
		return c.tool(value)
	case key == "source" && (c.api == Anthropic || c.api == Bedrock):
		return c.source(kind, value, depth)
	case slices.Contains(below[c.api], key):
		return c.walk(key, value, depth+1)
	}
	return nil
}

// tool refuses an upstream's tool that a message brings. It does not just remove the tool, because the message would
// then speak of a tool that is not there.
func (c *content) tool(value []byte) error {
	if value[0] != '{' {
		return nil
	}
	tool, err := parseObject(value)
	if err != nil {
		return err
	}
	definition, err := tool.getObject("definition")
	if err != nil {
		return err
	}
	for _, one := range []object{tool, definition} {
		kind, _ := one.getString("type")
		if kind == "tool_reference" || kind == "tool_definition" {
			continue
		}
		if ok, err := c.keeps(one); err != nil {
			return err
		} else if !ok {
			return bad(CodeReach, "a message brings the tool %s, which runs at the upstream. This route allows none of "+
				"these: leave it out", short(kind))
		}
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

// address checks the address of an image, or of something else if its key says so. An address that holds the data
// itself is fine, because nothing is fetched for it.
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

// data checks base64, or an address that holds the data itself. Some upstreams fetch any other address.
func (c *content) data(value []byte) error {
	text := strings.ReplaceAll(string(value), `\/`, "/") // base64 needs no other escape
	if strings.HasPrefix(text, `"data:`) || text[0] == '"' && !strings.ContainsAny(text, `:\`) {
		return nil
	}
	return c.addressThere()
}

// inline checks Google's data, which comes with its type.
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

// source checks the source of an image or a document: bytes, a text, blocks, a stored file, or an address.
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
	if !slices.Contains([]string{"", "base64", "text", "content", "url"}, word) { // "file", and unknown words
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
