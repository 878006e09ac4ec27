package route

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// lastWords are the text at the end of a closing request, for the model to read.
const lastWords = "The budget of this run is used up, and this is its last request. No tool can be called any more. " +
	"Give your final answer now, from what you already have, and say what is left undone."

// ClosingSize is the most bytes that Closing adds to a body.
const ClosingSize = 512

var errNoClosing = errors.New("this request has no form without tools")

// Closing turns a request that Decide allowed into a closing request: the model may call no tool, and is told to give
// its final answer, so that the agent's loop ends with this answer. most bounds the tokens of the answer; 0 leaves that
// bound as it is.
//
// It returns an error if the API, or this request, has no way to say so.
func (r *Route) Closing(e Exchange, most int64) (Exchange, error) {
	if strings.HasSuffix(e.URL.Path, "/compact") {
		return e, errNoClosing // this answer is not for the user
	}
	body, err := parseDocument(e.Body)
	if err != nil {
		return e, err
	}
	change, err := e.withoutTools(body)
	if err != nil {
		return e, err
	}
	if change, err = e.withLastWords(body, change); err != nil {
		return e, err
	}
	if most > 0 {
		if change, err = r.shorter(e, body, most, change); err != nil {
			return e, err
		}
	}
	e.Body, e.MaxOutput = change.apply(body), 0
	if body, err = parseDocument(e.Body); err != nil {
		return e, err
	}
	err = r.judgeOutput(body, e.over, &e)
	if err == nil && most > 0 && (e.MaxOutput == 0 || e.MaxOutput > most) {
		err = errNoClosing // the upstream may answer with more tokens than are reserved
	}
	return e, err
}

// withoutTools forbids the model to call tools. The tools stay in the request, because earlier calls in the
// conversation name them.
func (e Exchange) withoutTools(body object) (edits, error) {
	tools, err := elements(body.get("tools"))
	if err != nil {
		return nil, err
	}
	switch {
	case e.API == Anthropic, e.API == Bedrock && strings.Contains(e.Model, "anthropic") && !converses(e.over):
		if len(tools) > 0 {
			return edits{{"tool_choice", []byte(`{"type":"none"}`)}}, nil
		}
	case e.API == OpenAIResponses:
		if len(tools) > 0 || body.get("tool_choice") != nil {
			return edits{{"tool_choice", []byte(`"none"`)}}, nil
		}
	case e.API == OpenAIChat && body.get("functions") != nil:
		return edits{{"function_call", []byte(`"none"`)}}, nil
	case e.API == OpenAIChat:
		if len(tools) > 0 { // without tools, this API refuses a tool_choice
			return edits{{"tool_choice", []byte(`"none"`)}}, nil
		}
	case e.API == Google:
		if len(tools) > 0 {
			return edits{{"toolConfig", []byte(`{"functionCallingConfig":{"mode":"NONE"}}`)}}, nil
		}
	default: // Converse cannot say this, and other vendors' bodies are unknown
		return nil, errNoClosing
	}
	return nil, nil
}

// withLastWords adds the last words to the end of the conversation.
func (e Exchange) withLastWords(body object, change edits) (edits, error) {
	key, message := "messages", `{"role":"user","content":`+string(quote(lastWords))+`}`
	switch e.API {
	case OpenAIResponses:
		key, message = "input", `{"type":"message","role":"developer","content":[{"type":"input_text","text":`+string(quote(lastWords))+`}]}`
	case Google:
		key, message = "contents", `{"role":"user","parts":[{"text":`+string(quote(lastWords))+`}]}`
	}
	said := body.get(key)
	if len(said) == 0 {
		return nil, errNoClosing
	}
	if e.API == OpenAIResponses && said[0] == '"' {
		said = []byte(`[{"type":"message","role":"user","content":` + string(said) + `}]`)
	}
	all, err := elements(said)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, errNoClosing
	}
	return append(change, edit{key, array(append(all, []byte(message)))}), nil
}

// shorter bounds the answer's tokens to most, over all its choices.
func (r *Route) shorter(e Exchange, body object, most int64, change edits) (edits, error) {
	switch {
	case r.Preset == "codex-login":
		return nil, errors.New("this upstream takes no word on how long an answer may be")
	case e.API == OpenAIResponses:
		return append(change, edit{"max_output_tokens", count(most)}), nil
	case e.API == OpenAIChat:
		known, err := r.chatLengths(body)
		if !slices.ContainsFunc(known, func(key string) bool { return body.get(key) != nil }) {
			err = errors.New("servers of this API differ in the name of an answer's length, and the request has none that this one is known to read")
		}
		n, err2 := body.getCount("n")
		for _, key := range allChatLengths { // chatLengths leaves one out that some servers read
			if body.get(key) != nil {
				change = append(change, edit{key, count(most / max(n, 1))})
			}
		}
		return change, errors.Join(err, err2)
	case e.API == Google:
		config, err := body.getObject("generationConfig")
		if err != nil {
			return nil, err
		}
		n, err := config.getCount("candidateCount")
		return append(change, edit{"generationConfig", edits{{"maxOutputTokens", count(most / max(n, 1))}}.apply(config)}), err
	}
	thinking, err := body.getObject("thinking")
	if err != nil {
		return nil, err
	}
	if budget, err := thinking.getCount("budget_tokens"); err != nil || budget >= most {
		return nil, errors.Join(err, errors.New("the request has the model think for longer"))
	}
	return append(change, edit{"max_tokens", count(most)}), nil
}

func count(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
