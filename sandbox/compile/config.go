package compile

import (
	"fmt"

	"torno/delegation"
	"torno/internal/massgen"
	"torno/internal/paths"
)

// The request's yaml_config is data for the agent. Policy looks at only two things in it, because the clients of
// MassGen have no other place for them: the context, and directories that the agent will write.

// askedContext lists the context that the request names: in its own field, or otherwise, as MassGen does, in the run
// configuration. All context is read-only, whatever its permission says.
func (c *compiler) askedContext() ([]askedPath, *delegation.Refusal) {
	var asked []askedPath
	for i, text := range c.req.ContextPaths {
		asked = append(asked, askedPath{text: text, field: fmt.Sprintf("context_paths[%d]", i), code: delegation.CodeContext})
	}
	if len(asked) > 0 {
		return asked, nil
	}
	listed, wrong := massgen.ContextPaths(c.req.YAMLConfig)
	for _, p := range listed {
		if p.Permission != "read" {
			c.warnOfContext("context path %s is read-only, not %s", shown(p.Path), shown(p.Permission))
		}
		asked = append(asked, askedPath{text: p.Path, field: p.Field, code: delegation.CodeContext})
	}
	if wrong != nil {
		return nil, &delegation.Refusal{
			Code: delegation.CodeContext, Field: wrong.Field, Text: "Context path is malformed: " + wrong.Field, Hint: wrong.Hint,
		}
	}
	return asked, nil
}

// checkRunConfig makes sure that the agent is told to write only to directories in the workspace.
func (c *compiler) checkRunConfig() *delegation.Refusal {
	for _, setting := range massgen.Written(c.req.YAMLConfig) {
		if refusal := c.checkWritten(setting.Field, setting.Value); refusal != nil {
			return refusal
		}
	}
	return nil
}

// checkWritten accepts a path that is the workspace, as the child sees it, or lies in it. A relative path starts there.
// It also accepts a missing or empty path: the agent then chooses.
func (c *compiler) checkWritten(field string, value any) *delegation.Refusal {
	if value == nil || value == "" {
		return nil
	}
	refuse := func(text, hint string) *delegation.Refusal {
		return &delegation.Refusal{Code: delegation.CodeInvalid, Field: field, Text: field + " is " + text, Hint: hint}
	}
	text, ok := value.(string)
	if !ok {
		return refuse("not a path", "make it the text of a path in the workspace, or leave it out")
	}
	tidy, err := paths.Tidy(text)
	if err != nil {
		return refuse("not in the workspace: "+shown(text), err.Error())
	}
	if tidy[0] == '/' && !paths.Within(c.workspace.target, tidy) {
		return refuse("not in the workspace: "+shown(text), "name a directory in "+shown(c.workspace.target))
	}
	return nil
}
