package agentfile

import "gopkg.in/yaml.v3"

// jarvisKeys are the keys of an agent.md.
var jarvisKeys = map[string]reader{
	"name":        (*reading).name,
	"description": (*reading).description,
	"session": func(r *reading, at string, n *yaml.Node) {
		r.agent.Session = r.truth(at, n)
	},
	"allowed_callers": func(r *reading, at string, n *yaml.Node) {
		r.agent.AllowedCallers = r.list(at, n, CheckCaller)
	},
	"timeout_ms": func(r *reading, at string, n *yaml.Node) {
		r.agent.Timeout = r.milliseconds(at, n)
	},
	"permissions": func(r *reading, at string, n *yaml.Node) {
		r.mapping(at+".", n, permissionKeys)
	},
	"mcp_servers": (*reading).servers,
	"model":       (*reading).model,
	"skills":      (*reading).skills,
	"output_format": func(r *reading, at string, n *yaml.Node) {
		text, ok := r.text(at, n)
		if ok && text != "json" {
			r.refuse(n, at, `must be "json"; leave it out for an answer in words`)
		}
		r.agent.OutputFormat = text
	},
	"output_schema": (*reading).schema,
}

var permissionKeys = map[string]reader{
	"allow": func(r *reading, at string, n *yaml.Node) {
		r.agent.Permissions.Allow = r.list(at, n, checkRule)
	},
	"deny": func(r *reading, at string, n *yaml.Node) {
		r.agent.Permissions.Deny = r.list(at, n, checkRule)
	},
}

// name reads the agent's name. If the name is empty, required has already refused it.
func (r *reading) name(at string, n *yaml.Node) {
	text, ok := r.required(at, n)
	if !ok {
		return
	}
	if err := checkName(text); err != nil {
		r.refuse(n, at, "%v", err)
		return
	}
	r.agent.Name = text
}

func (r *reading) description(at string, n *yaml.Node) {
	r.agent.Description, _ = r.required(at, n)
}

// required returns the text of a field that must be there. If the field is null or empty, it refuses the file.
func (r *reading) required(at string, n *yaml.Node) (string, bool) {
	if n.ShortTag() == "!!null" || n.Kind == yaml.ScalarNode && n.Value == "" {
		r.whole("Missing required field %q in %s", at, r.agent.Path)
		return "", false
	}
	return r.text(at, n)
}

func (r *reading) model(at string, n *yaml.Node) {
	text, ok := r.text(at, n)
	if !ok {
		return
	}
	if err := checkModel(text); err != nil {
		r.refuse(n, at, "%v", err)
		return
	}
	r.agent.Model = text
}

// skills reads either of two forms: the list of the agent's skills, or the skills that are left out of the common ones.
func (r *reading) skills(at string, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		r.agent.Skills = &Skills{Names: r.list(at, n, CheckCaller)}
		return
	}
	r.agent.Skills = &Skills{IncludeGlobal: true}
	r.mapping(at+".", n, map[string]reader{
		"include_global": func(r *reading, at string, n *yaml.Node) {
			r.agent.Skills.IncludeGlobal = r.truth(at, n)
		},
		"exclude": func(r *reading, at string, n *yaml.Node) {
			r.agent.Skills.Exclude = r.list(at, n, CheckCaller)
		},
	})
}
