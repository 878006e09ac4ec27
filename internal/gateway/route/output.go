package route

import (
	"errors"
	"strings"
)

// maxChoices bounds how often an answer may be repeated: a budget multiplies by it.
const maxChoices = 128

// judgeOutput finds how long an answer may become at most, over all its choices.
func judgeOutput(api API, body object, e *Exchange) error {
	inner, keys, choices := body, []string{"max_tokens"}, ""
	var err error
	switch api {
	case OpenAIResponses:
		keys = []string{"max_output_tokens"}
	case OpenAIChat:
		keys, choices = []string{"max_tokens", "max_completion_tokens"}, "n"
	case Google:
		inner, err = body.getObject("generationConfig")
		keys, choices = []string{"maxOutputTokens"}, "candidateCount"
	case Bedrock:
		switch {
		case body.find("inferenceConfig") != nil:
			inner, err = body.getObject("inferenceConfig")
			keys = []string{"maxTokens"}
		case !strings.Contains(e.Model, "anthropic"):
			return nil // each vendor has a key of its own, and does not heed those of others
		}
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		n, err := inner.getCount(key)
		if err != nil {
			return err
		}
		e.MaxOutput = max(e.MaxOutput, n)
	}
	if choices == "" {
		return nil
	}
	n, err := inner.getCount(choices)
	if err != nil || n > maxChoices {
		return errors.New("the number of choices (" + choices + ") is no small number")
	}
	if n > 1 && e.MaxOutput == 0 {
		return errors.New("there are several choices (" + choices + ") and nothing says how long each may become (" + keys[0] + ")")
	}
	e.MaxOutput *= max(n, 1)
	return nil
}
