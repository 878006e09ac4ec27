package agentfile

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// claudeKeys are the keys that Claude Code knows.
var claudeKeys = map[string]reader{
	"name":        (*reading).name,
	"description": (*reading).description,
	"tools": func(r *reading, at string, n *yaml.Node) {
		r.agent.Permissions.Allow = r.rules(at, n)
		if len(r.agent.Permissions.Allow) == 1 && r.agent.Permissions.Allow[0] == "*" {
			r.agent.Permissions.Allow = nil
		}
	},
	"disallowedTools": func(r *reading, at string, n *yaml.Node) {
		r.agent.Permissions.Deny = r.rules(at, n)
	},
	"model": func(r *reading, at string, n *yaml.Node) {
		r.model(at, n)
		if r.agent.Model == "inherit" {
			r.agent.Model = ""
		}
	},
	"mcpServers":     (*reading).claudeServers,
	"permissionMode": (*reading).mode,
	"skills": func(r *reading, at string, n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			r.agent.Skills = &Skills{Names: r.line(at, n, CheckCaller)}
			return
		}
		r.agent.Skills = &Skills{Names: r.list(at, n, CheckCaller)}
	},
	"maxTurns":      absent("the number of turns is not bounded; the time is"),
	"memory":        absent("a child keeps nothing between its runs but its workspace and its conversation"),
	"background":    absent("the caller decides whether it waits"),
	"isolation":     absent("each child has a sandbox and a workspace of its own already"),
	"effort":        absent("the agent's own default counts"),
	"initialPrompt": absent("a child's first message is its task"),
	"color":         absent("a child has no window"),
}

// absent returns a reader for a key that Torno knows and cannot give.
func absent(why string) reader {
	return func(r *reading, at string, _ *yaml.Node) { r.notGiven(at, why) }
}

// rules reads rules for tools, which Claude Code writes as a list or in one line.
func (r *reading) rules(at string, n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return r.line(at, n, checkRule)
	}
	return r.list(at, n, checkRule)
}

// line reads words with commas between them. It never returns nil: an empty line is an empty list.
func (r *reading) line(at string, n *yaml.Node, parse func(string) error) []string {
	text, ok := r.text(at, n)
	words := []string{}
	if !ok || strings.TrimSpace(text) == "" {
		return words
	}
	for _, word := range splitRules(text) {
		if err := parse(word); err != nil {
			r.refuse(n, at, "%v", err)
			return words
		}
		words = append(words, word)
	}
	if len(words) > maxItems {
		r.refuse(n, at, "has more than %d values", maxItems)
	}
	return words
}

// mode refuses each mode that asks fewer questions.
func (r *reading) mode(at string, n *yaml.Node) {
	text, ok := r.text(at, n)
	if !ok {
		return
	}
	switch text {
	case "default":
	case "plan", "dontAsk":
		r.notGiven(at, "the operator of the watcher decides what is asked; list what the agent may not do in disallowedTools")
	default:
		r.refuse(n, at, "is %s, which lets tools pass without asking; remove the key", quote(text))
	}
}

// claudeServers reads the agent's servers. They are either a mapping with the servers' names as keys, or a list of such
// mappings and of names of the parent's servers.
func (r *reading) claudeServers(at string, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		r.namedServers(at, n)
		return
	}
	items := r.items(at, n)
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", at, i)
		if item.Kind == yaml.MappingNode {
			r.namedServers(place, item)
			continue
		}
		if name := r.word(place, item); name != "" {
			r.notGiven(place, "the server "+quote(name)+" is the parent's own; write its command into the file to give the child one")
		}
	}
}

func (r *reading) namedServers(at string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		place := at + "." + name.Value
		if err := checkWord(name.Value, "._-"); err != nil {
			r.refuse(name, place, "%v", err)
			continue
		}
		r.claudeServer(place, name.Value, value)
	}
}

func (r *reading) claudeServer(at, name string, n *yaml.Node) {
	s, kind, remote := Server{Name: name}, "", false
	keys := serverKeys(&s)
	keys["type"] = func(r *reading, at string, n *yaml.Node) { kind, _ = r.text(at, n) }
	keys["url"] = func(*reading, string, *yaml.Node) { remote = true }
	keys["headers"] = keys["url"]
	before := len(r.problems)
	r.mapping(at+".", n, keys)
	switch {
	case remote || kind != "" && kind != "stdio":
		r.notGiven(at, "a server that is reached over the network; a child has none")
	case s.Command == "" && len(r.problems) == before:
		r.refuse(n, at, `is missing "command"`)
	default:
		r.addServer(n, at, s)
	}
}
