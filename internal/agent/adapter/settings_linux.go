package adapter

import (
	"io"
	"os"
	"path/filepath"

	"torno/internal/agent"
)

// takeSettings reads the settings and turns them into arguments and files for the agent. The files get a directory of
// their own.
func (r *run) takeSettings() (g given, err error) {
	if r.settings == "" {
		return g, nil
	}
	s, err := readSettings(r.settings)
	if err != nil {
		return g, err
	}
	dir, err := os.MkdirTemp("", "torno-agent-")
	if err != nil {
		return g, err
	}
	return r.kind.settings(s, r.ask != "", func(name string, content []byte) (string, error) {
		path := filepath.Join(dir, name)
		return path, os.WriteFile(path, content, 0o400)
	})
}

func readSettings(name string) (s agent.Settings, err error) {
	file, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, agent.MaxSettings+1))
	if err != nil {
		return s, err
	}
	return agent.DecodeSettings(data)
}
