package route

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// parsed is a route as an operator writes it.
func parsed(t testing.TB, said map[string]any) *Route {
	t.Helper()
	r, err := Parse("r", said)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ofPreset(t testing.TB, name string, more ...any) *Route {
	t.Helper()
	said := map[string]any{"preset": name}
	for i := 0; i+1 < len(more); i += 2 {
		said[more[i].(string)] = more[i+1]
	}
	if name == "compatible" {
		said["upstream"] = "https://models.example/openai/v1"
	}
	return parsed(t, said)
}

// post is a request for a model.
func post(target, body string) Request {
	path, query, _ := strings.Cut(target, "?")
	return Request{
		Method: "POST", Path: path, RawQuery: query, Body: []byte(body),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

func get(target string) Request {
	path, query, _ := strings.Cut(target, "?")
	return Request{Method: "GET", Path: path, RawQuery: query}
}

func refusal(t testing.TB, err error) *Refusal {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("this is no refusal: %v", err)
	}
	return r
}

// TestPresets: what real clients send to each preset, and where it goes.
func TestPresets(t *testing.T) {
	const chat = `{"model":"m","messages":[]}`
	for _, test := range []struct {
		preset string
		sent   Request
		goes   string
	}{
		{"anthropic", post("/v1/messages?beta=true", chat), "https://api.anthropic.com/v1/messages?beta=true"},
		{"anthropic", get("/v1/models?limit=5"), "https://api.anthropic.com/v1/models?limit=5"},
		{"claude-login", post("/v1/messages?beta=true", chat), "https://api.anthropic.com/v1/messages?beta=true"},
		{"openai", post("/v1/responses", `{"model":"m","input":[]}`), "https://api.openai.com/v1/responses"},
		{"codex-login", post("/v1/responses", `{"model":"m","input":[]}`), "https://chatgpt.com/backend-api/codex/responses"},
		{"openai-chat", post("/v1/chat/completions", chat), "https://api.openai.com/v1/chat/completions"},
		{"openrouter", post("/v1/chat/completions", `{"model":"a/b:free"}`), "https://openrouter.ai/api/v1/chat/completions"},
		{"ollama", post("/v1/chat/completions", chat), "http://localhost:11434/v1/chat/completions"},
		{"compatible", post("/v1/chat/completions", chat), "https://models.example/openai/v1/chat/completions"},
		{
			"google", post("/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=dummy", `{"contents":[]}`),
			"https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
		},
		{
			"bedrock", post("/model/anthropic.claude-v2%3A0/invoke-with-response-stream", `{"max_tokens":5}`),
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2%3A0/invoke-with-response-stream",
		},
		{
			"bedrock", post("/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/converse", `{}`),
			"https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/converse",
		},
		{"npm", get("/left-pad"), "https://registry.npmjs.org/left-pad"},
		{"npm", get("/@babel%2fcore"), "https://registry.npmjs.org/@babel%2Fcore"},
		{"npm", get("/@babel/core/-/core-7.0.0.tgz"), "https://registry.npmjs.org/@babel/core/-/core-7.0.0.tgz"},
		{"pypi", get("/simple/requests/"), "https://pypi.org/simple/requests/"},
		{"pypi-files", get("/packages/a/b/c/requests-1.0.whl"), "https://files.pythonhosted.org/packages/a/b/c/requests-1.0.whl"},
		{"goproxy", get("/github.com/!a/b/@v/v1.0.0.zip"), "https://proxy.golang.org/github.com/!a/b/@v/v1.0.0.zip"},
		{"git", get("/a/b.git/info/refs?service=git-upload-pack"), "https://github.com/a/b.git/info/refs?service=git-upload-pack"},
		{"git", Request{Method: "POST", Path: "/a/b/git-upload-pack", Body: []byte("0000")}, "https://github.com/a/b/git-upload-pack"},
	} {
		e, err := ofPreset(t, test.preset).Decide(test.sent)
		if err != nil {
			t.Errorf("%s: %s %s: %v", test.preset, test.sent.Method, test.sent.Path, err)
			continue
		}
		if e.URL.String() != test.goes {
			t.Errorf("%s: %s %s goes to\n%s, not\n%s", test.preset, test.sent.Method, test.sent.Path, e.URL, test.goes)
		}
	}
}

// TestNothingElsePasses: paths, methods and queries beside those of the rules, in every spelling.
func TestNothingElsePasses(t *testing.T) {
	anthropic, npm, git, google := ofPreset(t, "anthropic"), ofPreset(t, "npm"), ofPreset(t, "git"), ofPreset(t, "google")
	const body = `{"model":"m"}`
	for name, test := range map[string]struct {
		route  *Route
		sent   Request
		status int
	}{
		"another path":            {anthropic, post("/v1/organizations", body), 404},
		"a path behind":           {anthropic, post("/v1/messages/batches", body), 404},
		"a slash more":            {anthropic, post("/v1/messages/", body), 404},
		"two slashes":             {anthropic, post("/v1//messages", body), 400},
		"dots":                    {anthropic, post("/v1/x/../messages", body), 400},
		"encoded dots":            {anthropic, post("/v1/x/%2e%2E/messages", body), 400},
		"half encoded dots":       {anthropic, post("/v1/x/.%2e/messages", body), 400},
		"encoded twice":           {anthropic, post("/v1/%256dessages", body), 400},
		"an encoded slash":        {anthropic, post("/v1%2fmessages", body), 404},
		"a backslash":             {anthropic, post(`/v1\messages`, body), 400},
		"an encoded backslash":    {anthropic, post("/v1/%5cmessages", body), 400},
		"a parameter":             {anthropic, post("/v1/messages;x=1", body), 400},
		"dots with a parameter":   {anthropic, post("/v1/..;/messages", body), 400},
		"an encoded query":        {anthropic, post("/v1/messages%3fbeta=true", body), 400},
		"a fragment":              {anthropic, post("/v1/messages#x", body), 400},
		"an encoded NUL":          {anthropic, post("/v1/messages%00", body), 400},
		"an encoded line":         {anthropic, post("/v1/messages%0d%0aX:y", body), 400},
		"a torn escape":           {anthropic, post("/v1/messages%2", body), 400},
		"bytes above ASCII":       {anthropic, post("/v1/mess\xc3\xa4ges", body), 400},
		"overlong dots":           {anthropic, post("/v1/%c0%ae%c0%ae/messages", body), 400},
		"a whole address":         {anthropic, post("http://evil.example/v1/messages", body), 400},
		"an address as a path":    {anthropic, post("//evil.example/v1/messages", body), 400},
		"no path":                 {anthropic, post("", body), 400},
		"a star":                  {anthropic, Request{Method: "OPTIONS", Path: "*"}, 400},
		"another case":            {anthropic, post("/V1/Messages", body), 404},
		"another method":          {anthropic, Request{Method: "DELETE", Path: "/v1/messages"}, 405},
		"a method in small":       {anthropic, Request{Method: "post", Path: "/v1/messages"}, 405},
		"an unknown parameter":    {anthropic, post("/v1/messages?x=1", body), 400},
		"a parameter twice":       {anthropic, post("/v1/messages?beta=true&beta=true", body), 400},
		"a parameter in disguise": {anthropic, post("/v1/messages?b%65ta=true&beta=true", body), 400},
		"a semicolon":             {anthropic, post("/v1/messages?beta=true;x=1", body), 400},
		"many parameters":         {anthropic, post("/v1/messages?"+strings.Repeat("beta=1&", 99), body), 400},
		"a model with dots":       {google, post("/v1beta/models/..%2f..:generateContent", "{}"), 400},
		"a model that is a path":  {google, post("/v1beta/models/x%2f..%2fy:generateContent", "{}"), 400},
		"an upload":               {npm, Request{Method: "PUT", Path: "/left-pad"}, 405},
		"a package that is dots":  {npm, get("/..%2f..%2fadmin"), 400},
		"a push":                  {git, get("/a/b/info/refs?service=git-receive-pack"), 400},
		"a push unsaid":           {git, get("/a/b/info/refs"), 400},
		"a push itself":           {git, Request{Method: "POST", Path: "/a/b/git-receive-pack"}, 403},
		"a slash in a star":       {ofPreset(t, "pypi"), get("/simple/a%2fb/"), 403},
		"a body on a get":         {npm, Request{Method: "GET", Path: "/left-pad", Body: []byte("x")}, 400},
	} {
		e, err := test.route.Decide(test.sent)
		if err == nil {
			t.Errorf("%s passes as %s", name, e.URL)
			continue
		}
		if r := refusal(t, err); r.Status != test.status {
			t.Errorf("%s: %d %s, want %d", name, r.Status, r.Text, test.status)
		}
	}
}
