package route

import (
	"errors"
	"slices"
	"strings"
)

// clientTools are the types of tools that run where the client runs. All other tools run at the upstream, or elsewhere
// on its behalf. They are removed from a request unless the route's reach names them.
var clientTools = map[API][]string{
	Anthropic:       {"", "custom", "bash_*", "text_editor_*", "computer_*", "memory_*", "tool_search_tool_*"},
	OpenAIResponses: {"", "function", "custom", "local_shell", "apply_patch", "namespace", "tool_search", "computer_use_preview", "computer"},
	OpenAIChat:      {"", "function", "custom"},
	Google:          {"functionDeclarations", "computerUse"},
	Bedrock:         {"", "custom", "bash_*", "text_editor_*", "computer_*", "memory_*", "toolSpec", "cachePoint"},
}

// knownFields are the members that a body of each API is known to have, and that cost no more than the model's price. A
// vendor adds others: Anthropic's fallbacks name more models, its thread names a stored conversation, its workspace_id
// another payer, a compatible server's enable_search has it search. Unknown members are removed unless the route's reach
// names them. Google and Bedrock have no list.
var knownFields = foldAll(map[API][]string{
	Anthropic: {
		"cache_control", "context_management", "max_tokens", "messages", "metadata", "model", "output_config", "output_format", "service_tier",
		"stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
	},
	OpenAIResponses: {
		"background", "client_metadata", "conversation", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
		"model", "parallel_tool_calls", "previous_response_id", "prompt_cache_key", "prompt_cache_retention", "reasoning",
		"safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs",
		"top_p", "truncation", "user",
	},
	OpenAIChat: { // and the members of embeddings, for routes that allow them
		"cache_control", "chat_template_kwargs", "dimensions", "enable_thinking", "encoding_format", "frequency_penalty",
		"function_call", "functions", "include_reasoning", "input", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "messages",
		"metadata", "min_p", "model", "n", "parallel_tool_calls", "presence_penalty", "prompt_cache_key", "prompt_cache_retention",
		"reasoning", "reasoning_effort", "repetition_penalty", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
		"stream", "stream_options", "temperature", "thinking", "thinking_budget", "tool_choice", "tools", "top_a", "top_k",
		"top_logprobs", "top_p", "usage", "user", "verbosity",
	},
})

// reachingFields are members of a body, for APIs without a list of known ones. They reach further than an answer, or
// make it dearer than its model's price, and a client can do without them.
var reachingFields = foldAll(map[API][]string{
	Bedrock: {"performanceConfig", "guardrailConfig", "fallbacks", "compaction", "mcp_servers", "container", "speed", "inference_geo"},
})

// cheapTiers are the values of service_tier that cost no more than the price table says.
var cheapTiers = []string{"", "auto", "default", "flex", "standard", "standard_only"}

func (r *Route) reaches(word string) bool {
	return slices.ContainsFunc(r.Reach, func(pattern string) bool { return fitsWord(pattern, word) })
}

// fitsWord compares a word with a pattern that may end with "*".
func fitsWord(pattern, word string) bool {
	begin, open := strings.CutSuffix(pattern, "*")
	return pattern == word || open && strings.HasPrefix(word, begin)
}

// reacher walks through one request.
type reacher struct {
	route *Route
	e     *Exchange
}

// judgeReach removes everything that reaches further than an answer.
func (r *Route) judgeReach(body object, over []glob, e *Exchange, change edits) (edits, error) {
	w := reacher{r, e}
	change, err := w.fields(body, change)
	if err != nil {
		return nil, bad(CodeBody, "%s", err.Error())
	}
	if later, err := body.getBool("background"); r.API == OpenAIResponses && (err != nil || later && !r.reaches("background")) {
		return nil, bad(CodeReach, "this route allows no work in the background: it would go on after the run has ended")
	}
	if change, err = w.tools(body, change); err != nil {
		return nil, bad(CodeBody, "%s", err.Error())
	}
	return change, w.judgeContent(body, over)
}

// fields removes the members of a body, or of a vendor's own part of one, that reach further than an answer or make it
// dearer.
func (w reacher) fields(holder object, change edits) (edits, error) {
	r := w.route
	known, listed := knownFields[r.API]
	for _, m := range holder.members {
		switch {
		case slices.Contains(betaFields, m.folded):
			change = w.betasIn(m, holder.text[m.begin:m.end], change)
		case listed != slices.Contains(known, m.folded) || slices.Contains(reachingFields[r.API], m.folded):
			change = w.drop(m, change)
		}
	}
	tier, err := holder.getString("service_tier")
	if err != nil || !slices.Contains(cheapTiers, tier) && !r.reaches("service_tier") {
		w.tell("service_tier")
		change = append(change, edit{key: "service_tier"})
	}
	if ok, err := r.editsOnly(holder); err != nil {
		return nil, err
	} else if !ok {
		w.tell("context_management")
		change = append(change, edit{key: "context_management"})
	}
	return change, nil
}

// drop removes a member, unless the route's reach names it.
func (w reacher) drop(m member, change edits) edits {
	if slices.ContainsFunc(w.route.Reach, func(word string) bool { return fold(word) == m.folded }) {
		return change
	}
	w.tell(m.key)
	return append(change, edit{key: m.key})
}

// mostDropped bounds the removed parts that are reported for one request, because events are kept.
const mostDropped = 32

// tell notes a removed part, once, unless there are too many. The word may be a stranger's, so it is cut short, and
// cloned: events are kept, and must not keep the body that the word was a part of.
func (w reacher) tell(word string) {
	word = word[:min(len(word), 64)]
	if len(w.e.Dropped) > mostDropped || slices.Contains(w.e.Dropped, word) {
		return
	}
	w.e.Dropped = append(w.e.Dropped, strings.Clone(word))
}

// told returns the removed parts, sorted.
func told(dropped []string) []string {
	slices.Sort(dropped)
	if len(dropped) > mostDropped {
		dropped[mostDropped] = "and more"
	}
	return dropped
}

// editsOnly reports whether a request asks Anthropic only to leave out old parts of a conversation. If it asks for a
// shorter version instead, the model runs once more, and the answer's usage does not count that.
func (r *Route) editsOnly(body object) (bool, error) {
	raw := body.get("context_management")
	if raw == nil || r.API != Anthropic && r.API != Bedrock || r.reaches("context_management") {
		return true, nil
	}
	asked, err := body.getObject("context_management")
	if err != nil {
		return false, err
	}
	for _, m := range asked.members {
		if m.folded != "edits" || asked.text[m.begin] != '[' {
			return false, nil
		}
	}
	all, err := elements(asked.get("edits"))
	if err != nil {
		return false, err
	}
	for _, one := range all {
		step, err := parseObject(one)
		if err != nil {
			return false, err
		}
		if kind, err := step.getString("type"); err != nil || !strings.HasPrefix(kind, "clear_") {
			return false, err
		}
	}
	return true, nil
}

// tools removes the upstream's tools from every place where the API has tools.
func (w reacher) tools(body object, change edits) (edits, error) {
	if w.route.API == Bedrock {
		for _, key := range []string{"toolConfig", moreFields} {
			config, err := body.getObject(key)
			if err != nil {
				return nil, err
			}
			inner, err := w.list(config, nil, 0)
			if err == nil && key == moreFields {
				inner, err = w.fields(config, inner)
			}
			if err != nil {
				return nil, err
			}
			if len(inner) > 0 {
				change = append(change, edit{key, inner.apply(config)})
			}
		}
	}
	if w.route.API == OpenAIResponses {
		items, changed, err := w.within(body.get("input"))
		if err != nil {
			return nil, err
		}
		if changed {
			change = append(change, edit{"input", array(items)})
		}
	}
	return w.list(body, change, 0)
}

// list judges the list of tools that belongs to one object.
func (w reacher) list(holder object, change edits, depth int) (edits, error) {
	raw := holder.get("tools")
	if raw == nil {
		return change, nil
	}
	all, err := elements(raw)
	if err != nil || raw[0] != '[' || depth > maxNesting {
		return nil, errors.New("tools is not a list, or one too long or too deep")
	}
	var kept [][]byte
	changed := false
	for _, one := range all {
		tool, err := parseObject(one)
		if err != nil {
			return nil, err
		}
		ok, err := w.keeps(tool)
		if err != nil {
			return nil, err
		}
		inner, err := w.list(tool, nil, depth+1) // a namespace has tools of its own
		if err != nil {
			return nil, err
		}
		changed = changed || !ok || len(inner) > 0
		if ok {
			kept = append(kept, inner.apply(tool))
		}
	}
	switch {
	case !changed:
	case len(kept) == 0:
		change = append(change, edit{key: "tools"}, edit{key: "tool_choice"})
	default:
		change = append(change, edit{"tools", array(kept)})
	}
	return change, nil
}

// within judges the lists of tools that items of a conversation bring.
func (w reacher) within(raw []byte) ([][]byte, bool, error) {
	items, err := elements(raw)
	if err != nil {
		return nil, false, err
	}
	changed := false
	for i, one := range items {
		if len(one) == 0 || one[0] != '{' {
			continue
		}
		item, err := parseObject(one)
		if err != nil {
			return nil, false, err
		}
		inner, err := w.list(item, nil, 0)
		if err != nil {
			return nil, false, err
		}
		if len(inner) > 0 {
			items[i], changed = inner.apply(item), true
		}
	}
	return items, changed, nil
}

// keeps reports whether a tool may stay. Google names the kind of a tool by the tool's only key, Bedrock by a key or by
// type.
func (w reacher) keeps(tool object) (bool, error) {
	var kinds []string
	kind, err := tool.getString("type")
	if err != nil {
		return false, err
	}
	if w.route.API == Google || w.route.API == Bedrock && kind == "" && tool.find("name") == nil {
		for _, m := range tool.members {
			kinds = append(kinds, m.key)
		}
	} else {
		kinds = []string{kind}
	}
	ok := true
	for _, kind := range kinds {
		if !w.mine(kind) && !w.route.reaches(kind) {
			w.tell(kind)
			ok = false
		}
	}
	return ok, nil
}

func (w reacher) mine(kind string) bool {
	return slices.ContainsFunc(clientTools[w.route.API], func(p string) bool {
		return fitsWord(p, kind) || w.route.API == Google && fold(p) == fold(kind)
	})
}
