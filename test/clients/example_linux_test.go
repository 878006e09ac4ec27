package clients

import (
	"encoding/json"
	"testing"
)

// exampleFor is what our example of a configuration has of its own: the agent, its model, the environment, the budget.
func exampleFor(t testing.TB, c client, env map[string]any) (keys string) {
	t.Helper()
	keys, err := c.Profile(env)
	if err != nil {
		t.Fatal(err)
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
