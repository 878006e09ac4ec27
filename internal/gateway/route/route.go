package route

import (
	"net/http"
	"net/url"
	"time"
)

// API is the dialect that a route's upstream speaks: where the model is named, what bounds an answer, how an error looks.
type API string

// The dialects.
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
	Preset   string // the preset that the route was laid over, if any
	API      API
	Upstream *url.URL // the API's base, as its vendor documents it; its query, if any, goes along with each request
	Prefix   string   // what a client's path begins with in place of the upstream's path
	Allow    []Rule
	Models   []Model           // empty: every model
	Headers  []string          // of the client's, passed on beside those of the API
	Set      map[string]string // set by us, in place of the client's
	Reach    []string          // what the upstream may do beyond answering: types of its tools, fields, betas
	AskUsage bool              // openai-chat: ask for the usage at the end of a stream

	Credential Credential

	Cache     int64         // bytes of a registry's files that are kept; 0 for none
	Files     string        // another host on which a registry's pages name files; a route of the same door leads there
	MaxBody   int64         // of a request
	MaxHeader int64         // of an answer
	Silence   time.Duration // between two bytes of an answer
	Private   bool          // private and loopback addresses may be dialled
	Roots     string        // a file with the only certificates that count, in place of the system's
	Pins      []string      // sha256 of a public key in the chain, base64
}

// Credential says where the header comes from that the upstream knows us by. It holds no secret: package credential does.
type Credential struct {
	Kind    string   // "", "file", "command", "systemd", "claude", "codex", "aws"
	Path    string   // of the file
	Name    string   // below CREDENTIALS_DIRECTORY
	Command []string // what prints the secret
	Header  string   // the header that is set
	Prefix  string   // before the secret, such as "Bearer "
	Region  string   // aws
	Service string   // aws
}

// Model is a model that the child may ask for.
type Model struct {
	Name     string // as the client says it; a "*" at the end stands for any rest
	Upstream string // as the upstream is told; empty for the same
}

// Request is a request of the child.
type Request struct {
	Method   string
	Path     string // as it stood in the request line up to the "?", not decoded
	RawQuery string // after the "?", not decoded
	Header   http.Header
	Body     []byte

	// LongPriced is not the child's: it says whether the prices know what a model's long window costs. Where it is
	// nil, they do not.
	LongPriced func(model string) bool
}

// Exchange is the request that leaves, but for the credential.
type Exchange struct {
	Method    string
	URL       *url.URL
	Header    http.Header
	Body      []byte
	API       API
	Model     string // as the upstream is told; "" for none
	MaxOutput int64  // tokens that the answer may have at most, over all its choices; 0 where the request does not say
	Images    int64  // that the model reads
	Stream    bool   // the answer is a stream of events
	// Unmeasured says that the model reads what the body's bytes do not bound: documents, sound, what the upstream stores.
	Unmeasured bool
	Long       bool     // it has the model's long window
	Dropped    []string // what was taken out of the request: "web_search", "mcp_servers", "fast-mode-2026-02-01"

	over       []glob // the rule's pattern, as it lies over the path
	longPriced func(model string) bool
}
