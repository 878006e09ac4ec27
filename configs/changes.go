package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Changes returns the differences between c and another configuration, key by key: "outboxes.main.max_running: 4 → 8".
func (c Config) Changes(to Config) []string {
	was, is := flatten(c), flatten(to)
	var keys []string
	for key := range was {
		keys = append(keys, key)
	}
	for key := range is {
		if _, there := was[key]; !there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var changes []string
	for _, key := range keys {
		if was[key] != is[key] {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", key, cmp.Or(was[key], "(none)"), cmp.Or(is[key], "(none)")))
		}
	}
	return changes
}

// flatten returns a configuration as a map from dotted keys to values. A list is one value.
func flatten(c Config) map[string]string {
	all := make(map[string]string)
	flattenInto(all, "", c.schema().write())
	return all
}

func flattenInto(all map[string]string, key string, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind != yaml.MappingNode {
		all[key] = flow(n)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		flattenInto(all, strings.TrimPrefix(key+"."+n.Content[i].Value, "."), n.Content[i+1])
	}
}

// flow writes a value on one line.
func flow(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			items = append(items, flow(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case yaml.MappingNode:
		var items []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			items = append(items, n.Content[i].Value+": "+flow(n.Content[i+1]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return n.Value
}
