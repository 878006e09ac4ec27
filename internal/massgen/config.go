package massgen

import "fmt"

// Setting is a value of a run configuration, with its place: "yaml_config.agent.backend.cwd".
type Setting struct {
	Field string
	Value any
}

// ContextPath is a place that a run configuration lets its agents read.
type ContextPath struct {
	Field      string
	Path       string
	Permission string // "read" if the configuration names none
}

const readOnly = "read"

// FormError names a field that does not have MassGen's form.
type FormError struct{ Field, Hint string }

func (e *FormError) Error() string { return e.Field + " is malformed: " + e.Hint }

// ContextPaths returns the places in orchestrator.context_paths. Each entry is a path, or an object with a path and a
// permission. If an entry is malformed, ContextPaths returns the entries before it together with the error.
func ContextPaths(config map[string]any) ([]ContextPath, *FormError) {
	const field = "yaml_config.orchestrator.context_paths"
	switch list := objectAt(config, "orchestrator")["context_paths"].(type) {
	case nil:
		return nil, nil
	case string:
		return []ContextPath{{Field: field, Path: list, Permission: readOnly}}, nil
	case []any:
		return contextEntries(field, list)
	default:
		return nil, &FormError{field, "make it a list of paths, or of objects with a path"}
	}
}

func contextEntries(field string, list []any) ([]ContextPath, *FormError) {
	var all []ContextPath
	for i, entry := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if text, ok := entry.(string); ok {
			all = append(all, ContextPath{Field: at, Path: text, Permission: readOnly})
			continue
		}
		at += ".path"
		fields, _ := entry.(map[string]any)
		text, ok := fields["path"].(string)
		if !ok {
			return all, &FormError{at, "make it the text of a path"}
		}
		permission, ok := fields["permission"].(string)
		if !ok {
			permission = readOnly
		}
		all = append(all, ContextPath{Field: at, Path: text, Permission: permission})
	}
	return all, nil
}

// Written returns the settings that tell agents which directories to write, in the order of the file. A missing setting
// has the value nil.
func Written(config map[string]any) []Setting {
	var all []Setting
	agents, _ := config["agents"].([]any)
	for i, agent := range agents {
		all = append(all, backendDir(fmt.Sprintf("yaml_config.agents[%d]", i), agent))
	}
	all = append(all, backendDir("yaml_config.agent", config["agent"]))
	orchestrator := objectAt(config, "orchestrator")
	for _, key := range []string{"snapshot_storage", "agent_temporary_workspace"} {
		all = append(all, Setting{"yaml_config.orchestrator." + key, orchestrator[key]})
	}
	return all
}

func backendDir(field string, agent any) Setting {
	fields, _ := agent.(map[string]any)
	return Setting{field + ".backend.cwd", objectAt(fields, "backend")["cwd"]}
}

// objectAt returns the object under a key. It returns nil if there is none; nil reads as an empty object.
func objectAt(object map[string]any, key string) map[string]any {
	inner, _ := object[key].(map[string]any)
	return inner
}
