package route

import (
	"regexp"
	"strconv"
)

// Way is a route as a sandbox reaches it: at a prefix of the paths of its port.
type Way struct {
	Route  *Route
	Prefix string // such as "/npm"; "" for the route of all other paths
}

var prefixForm = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]{0,63}){1,4}$`)

// IsPrefix reports whether a text can be a way's prefix.
func IsPrefix(text string) bool { return prefixForm.MatchString(text) }

// NoKey is a placeholder for clients that insist on a key. The gateway drops it and sets the route's credential.
const NoKey = "torno-gateway"

// Environment returns the variables by which programs in a sandbox find the ways behind a port there. If one program
// could use two routes, it gets the first. A program without such a variable (git, or a route without a preset) uses
// the address http://127.0.0.1:PORT/PREFIX.
func Environment(port uint16, ways []Way) map[string]string {
	all := map[string]string{}
	given := map[client]bool{}
	for _, w := range ways {
		by := w.Route.client()
		if by == anyClient || given[by] {
			continue
		}
		given[by] = true
		at := "http://127.0.0.1:" + strconv.Itoa(int(port)) + w.Prefix
		for name, value := range w.Route.variables(at) {
			all[name] = value
		}
	}
	return all
}

// client is a kind of program. Each program uses only one upstream of its kind.
type client int

const (
	anyClient client = iota // none of the kinds below
	claudeCode
	openaiClient
	geminiClient
	npmClient
	pipClient
	goClient
)

// client returns the program for a route: by the dialect for a model, by the preset for a registry, since all
// registries have the dialect Plain.
func (r *Route) client() client {
	switch r.API {
	case Anthropic, Bedrock:
		return claudeCode
	case OpenAIResponses, OpenAIChat:
		return openaiClient
	case Google:
		return geminiClient
	}
	return map[string]client{"npm": npmClient, "pypi": pipClient, "goproxy": goClient}[r.Preset]
}

// variables returns the variables for a route's program.
func (r *Route) variables(at string) map[string]string {
	base := at + r.Prefix
	switch r.client() {
	case claudeCode:
		return r.claude(base)
	case openaiClient:
		// Codex uses a key variable of its own, and gets the address only from -c openai_base_url=.
		return map[string]string{"OPENAI_BASE_URL": base, "OPENAI_API_KEY": NoKey, "CODEX_API_KEY": NoKey}
	case geminiClient:
		return map[string]string{"GOOGLE_GEMINI_BASE_URL": base, "GEMINI_API_KEY": NoKey}
	case npmClient:
		return map[string]string{"npm_config_registry": base + "/"}
	case pipClient:
		return map[string]string{"PIP_INDEX_URL": base + "/simple/", "UV_INDEX_URL": base + "/simple/"}
	case goClient:
		return map[string]string{"GOPROXY": base} // Go asks the checksum database through it too
	}
	return nil
}

// claude returns the variables for Claude Code. They turn off its other traffic, which would wait for a network that is
// not there.
func (r *Route) claude(base string) map[string]string {
	if r.API == Anthropic {
		return map[string]string{
			"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": NoKey,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
		}
	}
	all := map[string]string{
		"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1", "ANTHROPIC_BEDROCK_BASE_URL": base,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
	}
	if r.Credential.Region != "" {
		all["AWS_REGION"] = r.Credential.Region
	}
	return all
}
