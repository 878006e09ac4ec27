package massgen

import "strings"

// dockerKeys is the prefix of the keys that ask MassGen to start containers of its own.
const dockerKeys = "command_line_docker_"

// executionMode is the key under which a run configuration says how its agents run commands.
const executionMode = "command_line_execution_mode"

// Clean returns a copy of a run configuration that asks for no containers. It removes every key that begins with
// command_line_docker_ from every mapping at any depth, and makes the backend of each agent run its commands in place.
// Everything else is unchanged, and so is the argument.
func Clean(config map[string]any) map[string]any {
	clean, _ := withoutDocker(config).(map[string]any)
	for _, list := range []string{"agents", "subagent_agents"} {
		agents, _ := clean[list].([]any)
		for _, agent := range agents {
			runLocally(agent)
		}
	}
	runLocally(clean["agent"])
	return clean
}

func withoutDocker(value any) any {
	switch value := value.(type) {
	case map[string]any:
		clean := make(map[string]any, len(value))
		for key, inner := range value {
			if !isDockerKey(key) {
				clean[key] = withoutDocker(inner)
			}
		}
		return clean
	case []any:
		clean := make([]any, len(value))
		for i, inner := range value {
			clean[i] = withoutDocker(inner)
		}
		return clean
	default:
		return value
	}
}

// isDockerKey reports whether a reader could take key for a Docker key. It ignores case and the space around the key,
// as a careless reader would.
func isDockerKey(key string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(key)), dockerKeys)
}

// runLocally changes agent in place. It must be part of our copy.
func runLocally(agent any) {
	fields, _ := agent.(map[string]any)
	if backend, ok := fields["backend"].(map[string]any); ok {
		backend[executionMode] = "local"
	}
}
