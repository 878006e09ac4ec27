package clients

import (
	"encoding/json"
	"path"
	"testing"

	"gopkg.in/yaml.v3"

	"torno/configs"
)

// exampleFor is what our example of a configuration has of its own: the agent, its model, the environment, the budget.
func exampleFor(t testing.TB, c client, env map[string]any) (keys string) {
	t.Helper()
	data, err := configs.Examples.ReadFile(path.Join("examples", c.example))
	if err != nil {
		t.Fatal(err)
	}
	var example struct{ Profiles map[string]map[string]any }
	if err := yaml.Unmarshal(data, &example); err != nil {
		t.Fatal(err)
	}
	profile := example.Profiles[c.name]
	all := map[string]any{}
	if own, ok := profile["env"].(map[string]any); ok {
		all = own
	}
	for name, value := range env {
		all[name] = value
	}
	profile["env"] = all
	for _, key := range []string{"agent", "model", "budget", "env"} {
		keys += "    " + key + ": " + inJSON(profile[key]) + "\n"
	}
	return keys
}

// inJSON is a value as a configuration can have it.
func inJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return string(data)
}
