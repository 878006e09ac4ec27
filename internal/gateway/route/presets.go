package route

import (
	"maps"
	"slices"
)

// preset holds the default keys of a route, in the operator's words.
type preset map[string]any

// presets are routes that people commonly use. An upstream is the base that the vendor documents. So for a compatible
// vendor, "upstream" is the address on that vendor's own page.
var presets = map[string]preset{
	"anthropic": {
		"api": "anthropic", "upstream": "https://api.anthropic.com",
		"allow": []any{
			"POST /v1/messages?beta=true|", "POST /v1/messages/count_tokens?beta=true|",
			"GET /v1/models?limit&after_id&before_id", "GET /v1/models/{model}",
		},
		"header": "x-api-key",
	},
	// A login of Claude Code. Its tokens are meant for that program: see package credential.
	"claude-login": {
		"api": "anthropic", "upstream": "https://api.anthropic.com",
		"allow":  []any{"POST /v1/messages?beta=true|", "POST /v1/messages/count_tokens?beta=true|"},
		"header": "authorization", "header_prefix": "Bearer ",
		"set": map[string]any{"anthropic-beta": "oauth-2025-04-20"},
	},
	"openai": {
		"api": "openai-responses", "upstream": "https://api.openai.com/v1", "prefix": "/v1",
		"allow":  []any{"POST /responses", "POST /responses/compact", "GET /models?client_version", "GET /models/{model}"},
		"header": "authorization", "header_prefix": "Bearer ",
	},
	// A login of Codex with a ChatGPT account has another base, and needs the account in a header, which its credential
	// sets.
	"codex-login": {
		"api": "openai-responses", "upstream": "https://chatgpt.com/backend-api/codex", "prefix": "/v1",
		"allow":  []any{"POST /responses", "POST /responses/compact", "GET /models?client_version"},
		"header": "authorization", "header_prefix": "Bearer ",
	},
	"openai-chat": chat("https://api.openai.com/v1"),
	"openrouter":  chat("https://openrouter.ai/api/v1"),
	"compatible":  chat(""),
	"ollama": with(chat("http://localhost:11434/v1"), map[string]any{
		"http_to": "localhost", "private": true, "header": "", "header_prefix": "",
	}),
	"google": {
		"api": "google", "upstream": "https://generativelanguage.googleapis.com",
		"allow": []any{
			"POST /v1beta/models/{model}:generateContent", "POST /v1beta/models/{model}:streamGenerateContent?alt=sse",
			"POST /v1beta/models/{model}:countTokens", "GET /v1beta/models?pageSize&pageToken",
		},
		"header": "x-goog-api-key",
	},
	"bedrock": {
		"api": "bedrock", "upstream": "https://bedrock-runtime.us-east-1.amazonaws.com",
		"allow": []any{
			"POST /model/{model}/invoke", "POST /model/{model}/invoke-with-response-stream",
			"POST /model/{model}/converse", "POST /model/{model}/converse-stream",
		},
	},
	"npm": registry("https://registry.npmjs.org",
		"GET,HEAD /*", "GET,HEAD /{package}", "GET,HEAD /@*/*", "GET,HEAD /*/-/*.tgz", "GET,HEAD /@*/*/-/*.tgz"),
	// Its pages name files on another host. The door's route pypi-files leads there.
	"pypi": with(registry("https://pypi.org", "GET,HEAD /simple/", "GET,HEAD /simple/*/", "GET,HEAD /pypi/*/json", "GET,HEAD /pypi/*/*/json"),
		map[string]any{"files": "https://files.pythonhosted.org"}),
	"pypi-files": registry("https://files.pythonhosted.org", "GET,HEAD /packages/**"),
	"goproxy": registry("https://proxy.golang.org", "GET,HEAD /**/@v/list", "GET,HEAD /**/@v/*.info", "GET,HEAD /**/@v/*.mod",
		"GET,HEAD /**/@v/*.zip", "GET,HEAD /**/@latest", "GET /sumdb/sum.golang.org/**"),
	// A fetch needs a GET and a POST. Neither can change the repository, and a push uses another path.
	"git": with(registry("https://github.com", "GET /**/info/refs?service=git-upload-pack", "POST /**/git-upload-pack"),
		map[string]any{"header": "authorization", "header_prefix": "Basic ", "cache": 0}),
}

func chat(upstream string) preset {
	p := preset{
		"api": "openai-chat", "prefix": "/v1", "allow": []any{"POST /chat/completions", "GET /models", "GET /models/{model}"},
		"header": "authorization", "header_prefix": "Bearer ", "ask_usage": true,
	}
	if upstream != "" {
		p["upstream"] = upstream
	}
	return p
}

func registry(upstream string, allow ...any) preset {
	return preset{"api": "plain", "upstream": upstream, "allow": allow, "header": "authorization", "header_prefix": "Bearer ", "cache": "1GiB"}
}

func with(p preset, more map[string]any) preset {
	maps.Copy(p, more)
	return p
}

// presetNames returns the possible values of a route's "preset".
func presetNames() []string { return slices.Sorted(maps.Keys(presets)) }
