package route

import (
	"errors"
	"strings"
)

// maxNesting bounds how deep blocks of a message may lie in each other.
const maxNesting = 8

var errReach = &Refusal{
	Status: 400, Code: CodeReach,
	Text: "this route has no content by address: the upstream would fetch it for a child without a network; send the data itself",
}

// judgeURLs refuses content that the upstream would fetch from an address. An address is a message to its host, so a child
// that may name one has a way out. It looks only where the API has content: a tool's input may hold any address.
func judgeURLs(api API, body object) error {
	lists := map[API][]string{
		Anthropic: {"messages"}, Bedrock: {"messages"}, OpenAIChat: {"messages"}, OpenAIResponses: {"input"},
		Google: {"contents", "system_instruction"},
	}[api]
	for _, key := range lists {
		raw := body.get(key)
		if err := judgeContent(api, raw, 0); err != nil {
			return asRefusal(err)
		}
	}
	return nil
}

func asRefusal(err error) error {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r
	}
	return bad(CodeBody, "%s", err.Error())
}

// judgeContent looks through one block or a list of them.
func judgeContent(api API, raw []byte, depth int) error {
	if len(raw) > 0 && raw[0] == '{' {
		return judgeBlocks(api, [][]byte{raw}, depth)
	}
	blocks, err := elements(raw)
	if err != nil {
		return err
	}
	return judgeBlocks(api, blocks, depth)
}

// judgeBlocks looks through messages, their content, and what lies in that.
func judgeBlocks(api API, blocks [][]byte, depth int) error {
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
		for _, m := range block.members {
			value := one[m.begin:m.end]
			if err := judgeMember(api, m.folded, value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeMember looks at one member of a block: an address, or what may hold one.
func judgeMember(api API, key string, value []byte, depth int) error {
	switch {
	case key == "content" || key == "output" && api == OpenAIResponses,
		(key == "parts" || key == "functionresponse") && api == Google,
		(key == "image" || key == "document" || key == "video" || key == "toolresult") && api == Bedrock:
		return judgeContent(api, value, depth+1)
	case strings.HasSuffix(key, "url") && (api == OpenAIChat || api == OpenAIResponses):
		return judgeAddress(value)
	case key == "filedata" && api == Google:
		return errReach
	case key == "source" && (api == Anthropic || api == Bedrock):
		return judgeSource(api, value, depth)
	}
	return nil
}

// judgeAddress: data that stands in the address itself is fetched from nowhere.
func judgeAddress(value []byte) error {
	if len(value) > 0 && value[0] == '{' {
		inner, err := parseObject(value)
		if err != nil {
			return err
		}
		value = inner.get("url")
	}
	if len(value) == 0 || string(value) == "null" || strings.HasPrefix(string(value), `"data:`) {
		return nil
	}
	return errReach
}

// judgeSource is about the source of an image or a document: bytes, a text, blocks, or an address.
func judgeSource(api API, value []byte, depth int) error {
	if value[0] != '{' {
		return nil
	}
	source, err := parseObject(value)
	if err != nil {
		return err
	}
	if source.find("url") != nil || source.find("s3Location") != nil {
		return errReach
	}
	if kind, err := source.getString("type"); err != nil || kind == "url" {
		return errReach
	}
	return judgeContent(api, value, depth+1)
}
