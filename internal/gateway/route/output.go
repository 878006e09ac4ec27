package route

import (
	"errors"
	"slices"
	"strings"
)

// maxChoices bounds the number of choices, because a budget multiplies by it.
const maxChoices = 128

// judgeOutput finds the most tokens that the answer may have, over all its choices.
func (r *Route) judgeOutput(body object, over []glob, e *Exchange) error {
	api := r.API
	inner, keys, choices := body, []string{"max_tokens"}, ""
	var err error
	switch api {
	case OpenAIResponses:
		keys = []string{"max_output_tokens"}
		if r.Preset == "codex-login" {
			keys = nil // this upstream takes no word on how long an answer may be
		}
	case OpenAIChat:
		choices = "n"
		if err = body.spelled("max_completion_tokens"); err == nil {
			keys, err = r.chatLengths(body)
		}
	case Google:
		if err := body.spelled("generationConfig", "generation_config"); err != nil {
			return err
		}
		inner, err = body.getObject("generationConfig")
		keys, choices = []string{"maxOutputTokens"}, "candidateCount"
	case Bedrock:
		switch {
		case converses(over):
			if err := body.spelled("inferenceConfig"); err != nil {
				return err
			}
			inner, err = body.getObject("inferenceConfig")
			keys = []string{"maxTokens"}
			err = errors.Join(err, saysNoLength(body.get(moreFields), 0))
		case !strings.Contains(e.Model, "anthropic"):
			return oneChoice(body) // each vendor has its own key for a length, and ignores the keys of others
		}
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		spellings := []string{key}
		if api == Google {
			spellings = append(spellings, "max_output_tokens") // Google accepts both
		}
		if err := inner.spelled(spellings...); err != nil {
			return err
		}
		n, err := inner.getCount(key)
		if err != nil {
			return err
		}
		e.MaxOutput = max(e.MaxOutput, n)
	}
	add := addThinking
	if api == OpenAIChat {
		add = r.addChatThinking
	}
	if err := add(body, e); err != nil {
		return err
	}
	if choices == "" {
		return nil
	}
	n, err := inner.getCount(choices)
	if err != nil || n > maxChoices {
		return errors.New("the number of choices (" + choices + ") is not a small number")
	}
	if n > 1 && e.MaxOutput == 0 {
		return errors.New("there are several choices (" + choices + ") and nothing bounds how long each may become (" + keys[0] + ", and a budget for thoughts)")
	}
	e.MaxOutput *= max(n, 1)
	return nil
}

var allChatLengths = []string{"max_tokens", "max_completion_tokens"}

// chatLengths returns the members that bound a chat's answer. api.openai.com reads max_completion_tokens. Few other
// servers of this dialect do, so for them it counts only beside max_tokens.
func (r *Route) chatLengths(body object) ([]string, error) {
	bound, err := body.getCount("max_tokens")
	if bound > 0 || r.Upstream.Host == "api.openai.com" {
		return allChatLengths, err
	}
	return allChatLengths[:1], err
}

// oneChoice refuses several answers to one request of another vendor's model on Bedrock. Most of these models do not tell
// how many tokens they used, so the bound of one answer would be all that is paid.
func oneChoice(body object) error {
	for _, key := range []string{"n", "num_generations", "numResults", "best_of"} {
		if n, err := body.getCount(key); err != nil {
			return err
		} else if n > 1 {
			return errors.New(key + " asks for several answers, and their cost has no bound")
		}
	}
	return nil
}

// thinker is a vendor whose max_tokens does not bound thoughts, and whose models may think although the request does not
// ask for it. The vendor heeds one form in which it can be told not to think. budgets means that it also heeds a budget in
// this form.
type thinker struct {
	host    string
	form    string // its holder
	budgets bool
}

var thinkers = []thinker{{"aliyuncs.com", "", true}, {"volces.com", "thinking", false}, {"bytepluses.com", "thinking", false}}

// thinkingForm is a way in which servers of the chat dialect are told about thoughts: by members of holder, or of the body
// itself if holder is empty. budget is a number of tokens. on is a switch, and off is its value for no thoughts.
type thinkingForm struct{ holder, budget, on, off string }

var thinkingForms = []thinkingForm{
	{"", "thinking_budget", "enable_thinking", "false"},
	{"thinking", "budget_tokens", "type", `"disabled"`},
	{"reasoning", "max_tokens", "enabled", "false"},
	{"chat_template_kwargs", "thinking_budget", "enable_thinking", "false"},
}

// addChatThinking adds the thoughts that a chat's length does not bound. api.openai.com bounds both. Some other servers of
// this dialect have a budget for thoughts beside the length. If nothing bounds the thoughts, the length bounds nothing, and
// the model's own bound counts.
func (r *Route) addChatThinking(body object, e *Exchange) error {
	if r.Upstream.Host == "api.openai.com" || e.MaxOutput == 0 {
		return nil
	}
	vendor, unasked := r.thinker()
	bounded := !unasked
	for _, form := range thinkingForms {
		thoughts, says := form.read(body)
		if says == openEnd {
			e.MaxOutput = 0
			return nil
		}
		if form.holder == vendor.form && (says == off || says == budget && vendor.budgets) {
			bounded = true
		}
		e.MaxOutput += thoughts
	}
	if !bounded {
		e.MaxOutput = 0
	}
	return nil
}

func (r *Route) thinker() (thinker, bool) {
	i := slices.IndexFunc(thinkers, func(t thinker) bool { return strings.HasSuffix("."+r.Upstream.Hostname(), "."+t.host) })
	if i < 0 {
		return thinker{}, false
	}
	return thinkers[i], true
}

// asked is what a request says about thoughts in one form.
type asked int

const (
	nothing asked = iota
	off           // no thoughts
	budget        // a number of tokens
	openEnd       // thoughts without a budget, or something that servers may take for that
)

// read reads a form in a body. The text has to be exactly what the form says: a server may ignore any other spelling or type.
func (f thinkingForm) read(body object) (thoughts int64, says asked) {
	in, err := body, error(nil)
	if f.holder != "" {
		in, err = body.getObject(f.holder)
		err = errors.Join(err, body.spelled(f.holder))
	}
	thoughts, noCount := in.getCount(f.budget)
	on := string(in.get(f.on))
	switch {
	case errors.Join(err, noCount, in.spelled(f.budget), in.spelled(f.on)) != nil:
		return 0, openEnd
	case on == f.off:
		return thoughts, off
	case thoughts > 0:
		return thoughts, budget
	case on != "":
		return 0, openEnd
	}
	return 0, nothing
}

// addThinking adds a thinking budget that is above max_tokens, because max_tokens does not bound interleaved thinking.
func addThinking(body object, e *Exchange) error {
	if e.API != Anthropic && e.API != Bedrock {
		return nil
	}
	for _, holder := range []string{"", moreFields} {
		in, err := body, error(nil)
		if holder != "" {
			in, err = body.getObject(holder)
		}
		if err != nil {
			return err
		}
		thinking, err := in.getObject("thinking")
		if err != nil {
			return err
		}
		budget, err := thinking.getCount("budget_tokens")
		if err != nil {
			return err
		}
		if e.MaxOutput > 0 && budget > e.MaxOutput {
			e.MaxOutput += budget
		}
	}
	return nil
}

// moreFields is the member of a Converse request that holds the fields which only the model's vendor knows.
const moreFields = "additionalModelRequestFields"

// converses reports whether a path of Bedrock belongs to Converse, whose body is the same for all vendors.
func converses(over []glob) bool { return strings.HasPrefix(over[len(over)-1].before, "converse") }

// saysNoLength refuses a second bound on the answer's length, because some model may heed it in place of the first.
func saysNoLength(raw []byte, depth int) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	if depth > maxNesting {
		return errors.New(moreFields + " is nested too deeply")
	}
	fields, err := parseObject(raw)
	if err != nil {
		return err
	}
	for _, m := range fields.members {
		if strings.HasPrefix(m.folded, "max") {
			return errors.New(moreFields + " limits the length of the answer; only inferenceConfig may do that")
		}
		if m.folded == "tools" { // a schema may hold any word
			continue
		}
		if err := saysNoLength(raw[m.begin:m.end], depth+1); err != nil {
			return err
		}
	}
	return nil
}
