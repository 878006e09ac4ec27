package agentfile

import (
	"fmt"
	"regexp"

	"gopkg.in/yaml.v3"
)

// maxExpanded limits the bytes that variables add to one file.
const maxExpanded = 256 << 10

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// servers reads the list of an agent.md: name, command, args, env.
func (r *reading) servers(at string, n *yaml.Node) {
	items := r.items(at, n)
	for i, item := range items {
		if item.Kind != yaml.MappingNode {
			r.refuse(item, fmt.Sprintf("%s[%d]", at, i), `must have the keys "name" and "command"`)
			continue
		}
		var s Server
		keys := serverKeys(&s)
		keys["name"] = func(r *reading, at string, n *yaml.Node) { s.Name = r.word(at, n) }
		before := len(r.problems)
		r.mapping(fmt.Sprintf("%s[%d].", at, i), item, keys)
		if (s.Name == "" || s.Command == "") && len(r.problems) == before {
			r.whole(`MCP server entry %d missing "name" or "command" in %s`, i, r.agent.Path)
			continue
		}
		r.addServer(item, at, s)
	}
}

// serverKeys returns the keys that both forms have for a server.
func serverKeys(s *Server) map[string]reader {
	return map[string]reader{
		"command": func(r *reading, at string, n *yaml.Node) { s.Command = r.expandedText(at, n) },
		"args": func(r *reading, at string, n *yaml.Node) {
			items := r.items(at, n)
			for i, item := range items {
				s.Args = append(s.Args, r.expandedText(fmt.Sprintf("%s[%d]", at, i), item))
			}
		},
		"env": func(r *reading, at string, n *yaml.Node) { s.Env = r.environment(at, n) },
	}
}

func (r *reading) environment(at string, n *yaml.Node) map[string]string {
	if n.Kind != yaml.MappingNode || len(n.Content) > 2*maxItems {
		r.refuse(n, at, "must be names of variables with their values, not more than %d", maxItems)
		return nil
	}
	env := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !variable.MatchString("${" + name + "}") {
			r.refuse(n.Content[i], at, "has the name %s; use letters, digits and _", quote(name))
			continue
		}
		env[name] = r.expandedText(at+"."+name, n.Content[i+1])
	}
	return env
}

func (r *reading) word(at string, n *yaml.Node) string {
	text, ok := r.text(at, n)
	if !ok || text == "" {
		return ""
	}
	if err := checkWord(text, "._-"); err != nil {
		r.refuse(n, at, "%v", err)
	}
	return text
}

// expandedText replaces variables by their values, once: a value that looks like a variable stays unchanged.
func (r *reading) expandedText(at string, n *yaml.Node) string {
	text, ok := r.text(at, n)
	if !ok {
		return ""
	}
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		value := r.lookup(name[2 : len(name)-1])
		if r.expanded > maxExpanded {
			return ""
		}
		r.expanded += len(value)
		if r.expanded > maxExpanded {
			r.refuse(n, at, "brings more than %d KiB with its variables", maxExpanded>>10)
			return ""
		}
		return value
	})
}

func (r *reading) addServer(n *yaml.Node, at string, s Server) {
	for _, other := range r.agent.Servers {
		if other.Name == s.Name {
			r.refuse(n, at, "has two servers of the name %s", quote(s.Name))
		}
	}
	r.agent.Servers = append(r.agent.Servers, s)
}
