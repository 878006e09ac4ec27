package configs

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Marshal writes the whole configuration, defaults included, as YAML that Parse reads back as the same.
func (c Config) Marshal() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c.schema().write()); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	return out.Bytes(), nil
}
