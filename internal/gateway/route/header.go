package route

import (
	"net/http"
	"slices"
	"strings"
)

const maxValue = 8 << 10

// The client's header fields that each API passes on; "x-*" stands for every name that begins so. Fields that choose an
// account, a project or a price are not here: the operator's set has them.
var (
	everywhere = []string{"Accept", "Content-Type", "User-Agent"}
	passed     = map[API][]string{
		Anthropic: {
			"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "X-App", "X-Stainless-*",
			"X-Claude-Code-*",
		},
		OpenAIResponses: {
			"Openai-Beta", "Originator", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Version",
			// Not X-Codex-Routing-Hint, because it names a model and a tier.
			"X-Codex-Beta-Features", "X-Codex-Installation-Id", "X-Codex-Parent-Thread-Id", "X-Codex-Root-Turn-Id",
			"X-Codex-Turn-*", "X-Codex-Window-Id", "X-Stainless-*",
		},
		OpenAIChat: {"Openai-Beta", "X-Stainless-*", "X-Title", "Http-Referer"},
		Google:     {"X-Goog-Api-Client"},
		Bedrock:    {"Amz-Sdk-Invocation-Id"},
		Plain: {
			"Accept-Language", "Cache-Control", "Git-Protocol", "If-Modified-Since", "If-None-Match", "If-Range", "Npm-*", "Pragma", "Range",
			"Content-Encoding", "Pacote-*",
		},
	}
)

// isList reports whether several lines may share the values of a header field.
func isList(name string) bool { return name == "Accept" || name == "Cache-Control" || isBetas(name) }

// never are fields that no configuration passes on: they belong to one hop, to the message itself, or to an identity.
// Parse refuses them in a route's headers and set. Decide drops the client's, even if a pattern such as "x-*" fits.
var never = []string{
	"Authorization", "Proxy-Authorization", "Proxy-Authenticate", "Cookie", "Cookie2", "Set-Cookie", "X-Api-Key", "Api-Key", "X-Goog-Api-Key",
	"X-Amz-Security-Token", "X-Amz-Date", "X-Amz-Content-Sha256", "Chatgpt-Account-Id", "Www-Authenticate",
	"Host", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Connection", "Proxy-Connection", "Keep-Alive", "Upgrade", "Expect",
	"Http2-Settings", "Accept-Encoding", "X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url",
	"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via",
}

// judgeHeader makes the header that leaves.
func (r *Route) judgeHeader(from http.Header) (http.Header, error) {
	to := make(http.Header)
	for name, values := range from {
		name = http.CanonicalHeaderKey(name)
		if len(values) == 0 || !r.passes(name) {
			continue
		}
		if _, twice := to[name]; twice || len(values) > 1 && !isList(name) {
			return nil, bad(CodeHeader, "the header %s is there more than once", name)
		}
		value := strings.Join(values, ", ")
		if !isValue(value) {
			return nil, bad(CodeHeader, "the header %s has a value that no header may have", name)
		}
		to[name] = []string{value}
	}
	r.setOurs(to)
	return to, nil
}

// setOurs sets the operator's values. For a list it adds them to the client's values; otherwise it replaces those.
func (r *Route) setOurs(to http.Header) {
	for name, value := range r.Set {
		name = http.CanonicalHeaderKey(name)
		if theirs := to.Get(name); theirs != "" && isList(name) {
			if holds(theirs, value) {
				continue
			}
			value = theirs + "," + value
		}
		to[name] = []string{value}
	}
	to.Set("Accept-Encoding", "identity") // compressed answers could not be read and counted, and could unfold to any size
	if r.Credential.Header != "" {
		to.Del(r.Credential.Header)
	}
}

// holds reports whether a list has an item.
func holds(list, item string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(one), item) {
			return true
		}
	}
	return false
}

func (r *Route) passes(name string) bool {
	if slices.Contains(never, name) || strings.EqualFold(name, r.Credential.Header) {
		return false
	}
	fits := func(pattern string) bool {
		begin, open := strings.CutSuffix(pattern, "*")
		return strings.EqualFold(pattern, name) || open && len(name) >= len(begin) && strings.EqualFold(name[:len(begin)], begin)
	}
	return slices.ContainsFunc(everywhere, fits) || slices.ContainsFunc(passed[r.API], fits) || slices.ContainsFunc(r.Headers, fits)
}

func isValue(value string) bool {
	if len(value) > maxValue {
		return false
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f || c >= 0x80 {
			return false
		}
	}
	return true
}
