package route

import (
	"net/http"
	"strings"
	"testing"
)

// TestALengthInAnotherSpelling: a child says how long its answer may be under a key that we would read and the upstream would not, so
// that next to nothing is reserved for an answer without a bound. It is refused, in each API.
func TestALengthInAnotherSpelling(t *testing.T) {
	for name, test := range map[string]struct {
		preset, path, good string
		bad                []string
	}{
		"chat": {"compatible", "/v1/chat/completions", `{"model":"m","max_tokens":1,"messages":[]}`, []string{
			`{"model":"m","maxTokens":1,"messages":[]}`, `{"model":"m","Max_Tokens":1,"messages":[]}`, `{"model":"m","maxCompletionTokens":1,"messages":[]}`, `{"Model":"m","messages":[]}`,
		}},
		"responses": {"openai", "/v1/responses", `{"model":"m","max_output_tokens":1,"input":"x","store":false}`, []string{`{"model":"m","maxOutputTokens":1,"input":"x","store":false}`}},
		"messages":  {"anthropic", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[]}`, []string{`{"model":"m","max-tokens":1,"messages":[]}`}},
		"google": {"google", "/v1beta/models/m:generateContent", `{"contents":[],"generation_config":{"max_output_tokens":1}}`, []string{
			`{"contents":[],"generationConfig":{"MaxOutputTokens":1}}`, `{"contents":[],"generationconfig":{"maxOutputTokens":1}}`,
		}},
		"converse": {"bedrock", "/model/anthropic.m/converse", `{"messages":[],"inferenceConfig":{"maxTokens":1}}`, []string{
			`{"messages":[],"inferenceConfig":{"max_tokens":1}}`, `{"messages":[],"inference_config":{"maxTokens":1}}`,
		}},
	} {
		decide := func(body string) (Exchange, error) {
			return closingRoute(t, test.preset).Decide(Request{Method: http.MethodPost, Path: test.path, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)})
		}
		if e, err := decide(test.good); err != nil || e.MaxOutput != 1 {
			t.Errorf("%s: %s: %d tokens, %v", name, test.good, e.MaxOutput, err)
		}
		for _, body := range test.bad {
			if e, err := decide(body); err == nil || !strings.Contains(err.Error(), "spelled") {
				t.Errorf("%s: %s leaves, with %d tokens: %v", name, body, e.MaxOutput, err)
			}
		}
	}
}
