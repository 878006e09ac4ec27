package route

import (
	"net/http"
	"net/url"
	"time"
)

// API is the dialect of a route's upstream: where a request names the model, which field bounds an answer, and the form
// of an error.
type API string

// Known dialects.
const (
	Anthropic       API = "anthropic"
	OpenAIResponses API = "openai-responses"
	OpenAIChat      API = "openai-chat"
	Google          API = "google"
	Bedrock         API = "bedrock"
	Plain           API = "plain" // no model: registries and the like
)

var apis = []API{Anthropic, OpenAIResponses, OpenAIChat, Google, Bedrock, Plain}

// Route is a way out of the sandbox. Parse makes it, and nothing changes it afterwards.
type Route struct {
	Name     string
	Preset   string // the preset under the operator's own keys, if any
	API      API
	Upstream *url.URL // the API's base, as its vendor documents it; its query, if any, is part of every request
	Prefix   string   // the beginning of a client's path, in place of the upstream's path
	Allow    []Rule
	Models   []Model           // empty: every model
	Headers  []string          // the client's fields that are passed on beside the API's own
	Set      map[string]string // fields that we set, in place of the client's
	Reach    []string          // actions beyond an answer that the upstream may take: types of its tools, fields, betas
	AskUsage bool              // for openai-chat: ask for the usage at the end of a stream

	Credential Credential

	Cache     int64         // bytes of a registry's kept files; 0 keeps none
	Files     string        // another host that a registry's pages name; a route of the same door leads there
	MaxBody   int64         // bytes of a request
	MaxHeader int64         // bytes of an answer's head
	Silence   time.Duration // longest time without a byte of an answer
	Private   bool          // private and loopback addresses may be dialled
	Roots     string        // a file with the only trusted certificates, in place of the system's
	Pins      []string      // sha256 of a public key in the chain, base64
}

// Credential says where to read the credential, and how to send it. It holds no secret; only package credential does.
type Credential struct {
	Kind    string   // "", "file", "command", "systemd", "claude", "codex", "aws"
	Path    string   // of the file
	Name    string   // below CREDENTIALS_DIRECTORY
	Command []string // the program that prints the secret, and its arguments
	Header  string   // the header that is set
	Prefix  string   // before the secret, such as "Bearer "
	Region  string   // aws
	Service string   // aws
}

// Model is a model that the child may ask for.
type Model struct {
	Name     string // the client's name for it; a "*" at the end stands for any rest
	Upstream string // the upstream's name for it; "" if it is the same
}

// Request is a request from the child.
type Request struct {
	Method   string
	Path     string // from the request line, up to the "?", not decoded
	RawQuery string // after the "?", not decoded
	Header   http.Header
	Body     []byte

	// LongPriced is not from the child. It reports whether the price of a model's long window is known. If LongPriced
	// is nil, no such price is known.
	LongPriced func(model string) bool
}

// Exchange is the request that leaves, without the credential.
type Exchange struct {
	Method    string
	URL       *url.URL
	Header    http.Header
	Body      []byte
	API       API
	Model     string // the upstream's name for it; "" for no model
	MaxOutput int64  // most tokens of the answer, over all its choices; 0 if the request does not say
	Images    int64  // number of images that the model reads
	Stream    bool   // the answer is a stream of events
	// Unmeasured means that the model reads content that the body's bytes do not bound: documents, sound, or content
	// that the upstream stores.
	Unmeasured bool
	Long       bool     // the request uses the model's long window
	Dropped    []string // removed parts of the request: "web_search", "mcp_servers", "fast-mode-2026-02-01"

	over       []glob // for each segment of the path, the glob of the rule that fits it
	longPriced func(model string) bool
}
