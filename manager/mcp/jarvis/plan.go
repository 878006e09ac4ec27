package jarvis

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/manager/agentfile"
	"torno/manager/answerschema"
	"torno/manager/mcp"
)

// plan holds everything that a call asks the host for.
type plan struct {
	mcp.Task

	offer    delegation.ProfileOffer
	sessions bool // the host keeps conversations
	schema   *answerschema.Schema
	notes    []string // for the caller: wishes of the agent's file that are not met
}

// These texts explain why no plan is possible.
const (
	noProfile = "the host offers no profile with an agent; ask the user for one (agent: claude, for instance)"
	noRules   = "its file says which tools it may use, and the host cannot have its agent keep to that, so it was not run; ask the user for a profile with agent: claude and a watcher that offers " +
		delegation.FeatureSettings + ", or for a file without rules"
)

// planned returns how an agent can be run. If it cannot, why says which requirement is missing.
func planned(a *agentfile.Agent, in input, beat delegation.Heartbeat) (p plan, why string) {
	offer, there := choose(beat.Profiles)
	if !there {
		return p, noProfile
	}
	p.offer, p.sessions = offer, slices.Contains(beat.Features, delegation.FeatureSessions)
	p.Profile, p.Timeout = offer.Name, limited(a.Timeout, beat)
	known := agent.Find(offer.Agent)
	switch takes := known != nil && known.Takes && slices.Contains(beat.Features, delegation.FeatureSettings); {
	case takes:
		p.Settings = settingsOf(a)
	case a.Permissions.Allow != nil || len(a.Permissions.Deny) > 0:
		return p, noRules
	default:
		p.Text = a.Prompt
		if len(a.Servers) > 0 {
			p.notes = append(p.notes, "its MCP servers were not given to it: the host's profile has no agent that takes them")
		}
	}
	if offer.Approvals && p.Settings != nil && len(p.Settings.Servers) > 0 {
		p.Settings.Servers = nil
		p.notes = append(p.notes, "its MCP servers were not given to it: its agent asks before it uses a tool, and would start them without asking")
	}
	if offer.Approvals {
		p.notes = append(p.notes, "the host's profile "+offer.Name+" has it ask before it uses a tool, and this tool decides nothing: the user does, by subagent approve, or the operator")
	}
	p.schema = schemaOf(a)
	p.Text = p.text(agentfile.Task(in.Prompt, in.Context))
	p.setModel(a.Model)
	return p, ""
}

// choose finds the profile for a call. It prefers an agent that takes settings, and among those an agent that does not
// ask before it calls tools, because no tool of this set answers such questions.
func choose(offers []delegation.ProfileOffer) (chosen delegation.ProfileOffer, there bool) {
	best := 0
	for _, offer := range offers {
		known := agent.Find(offer.Agent)
		takes := known != nil && known.Takes
		worth := 1
		switch {
		case offer.Agent == "":
			worth = 0
		case takes && offer.Approvals:
			worth = 2
		case takes:
			worth = 3
		}
		if worth > best {
			chosen, there, best = offer, true, worth
		}
	}
	return chosen, there
}

// limited returns the agent's time, or the host's limit if that is lower.
func limited(limit time.Duration, beat delegation.Heartbeat) time.Duration {
	limit = (limit + time.Second - 1).Truncate(time.Second)
	if most := time.Duration(beat.Limits.MaxTimeoutSeconds) * time.Second; most > 0 {
		return min(limit, most)
	}
	return limit
}

func settingsOf(a *agentfile.Agent) *agent.Settings {
	s := &agent.Settings{SystemPrompt: a.Prompt, Deny: a.Permissions.Deny, Servers: map[string]agent.Server{}}
	if a.Permissions.Allow != nil {
		s.Allow = &a.Permissions.Allow
	}
	for _, server := range a.Servers {
		s.Servers[server.Name] = agent.Server{Command: server.Command, Args: server.Args, Env: server.Env}
	}
	return s
}

// schemaOf returns the schema that an answer must match, or nil if any answer will do. If the file asks for JSON
// without a schema, any JSON will do.
func schemaOf(a *agentfile.Agent) *answerschema.Schema {
	if a.OutputSchema != nil || a.OutputFormat == "" {
		return a.OutputSchema
	}
	schema, err := answerschema.Compile(map[string]any{})
	if err != nil {
		panic(err) // cannot fail: the schema is empty
	}
	return schema
}

// text returns the task, with the agent's prompt before it if the prompt goes in the text. If there is a schema, the
// text ends with the request for an answer that matches it.
func (p *plan) text(task string) string {
	if p.Text != "" {
		task = p.Text + "\n\n" + task
	}
	if p.schema != nil {
		task += "\n\n" + p.schema.Asking()
	}
	return task
}

// setModel asks for the model in the file, unless the operator has set one: the host lets no request change the
// operator's model.
func (p *plan) setModel(model string) {
	switch {
	case model == "":
	case p.offer.Model != "" && p.offer.Model != model:
		p.notes = append(p.notes, "it has the model "+mcp.Words(p.offer.Model)+", which the host's profile sets, and not "+model)
	case p.offer.Model == "":
		p.Model = model
	}
}

// newID returns a name for a subagent of an agent that begins anew at each call.
func newID(a *agentfile.Agent) string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return a.Name[:min(len(a.Name), 119)] + "_" + hex.EncodeToString(b[:])
}
