package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// composeFile is contrib/sidecar/compose.yaml. A key of it that is not here is an error: what it means would not be tried.
type composeFile struct {
	Services map[string]service
}

// service is a container of that file.
type service struct {
	Build       *struct{ Context, Dockerfile string }
	Image       string
	User        string
	NetworkMode string `yaml:"network_mode"`
	ReadOnly    bool   `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
	StopFor     string   `yaml:"stop_grace_period"`
	Restart     string
	Environment map[string]string
	Volumes     []volume
	DependsOn   []string `yaml:"depends_on"`
}

// volume is a directory of the machine in a container. It is written in one line or as a map.
type volume struct {
	Type, Source, Target string
	Bind                 struct{ Propagation string }
	ReadOnly             bool `yaml:"read_only"`
}

func (v *volume) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		type plain volume
		return node.Decode((*plain)(v))
	}
	parts := strings.Split(node.Value, ":")
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" {
		return fmt.Errorf("the demo cannot read the volume %q", node.Value)
	}
	*v = volume{Type: "bind", Source: parts[0], Target: parts[1], ReadOnly: len(parts) == 3}
	return nil
}

func readCompose(path string) (file composeFile, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return file, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// place is what the demo has for a source of a volume. same means that the container calls it as the machine does.
type place struct {
	path string
	same bool
}

// container is what an engine is told to make of a service. places are the demo's by the sources that the file names.
func (s service) container(image string, places map[string]place) (map[string]any, error) {
	stop, err := time.ParseDuration(s.StopFor)
	if s.StopFor != "" && err != nil {
		return nil, err
	}
	type object = map[string]any
	var mounts []object
	for _, v := range s.Volumes {
		at, ours := places[v.Source]
		if !ours && (!v.ReadOnly || !strings.HasPrefix(v.Source, "/etc/")) {
			return nil, fmt.Errorf("the demo has nothing in the place of %s", v.Source)
		}
		if !ours {
			at.path = v.Source
		}
		target := v.Target
		if at.same {
			target = at.path
		}
		mount := object{"Type": v.Type, "Source": at.path, "Target": target, "ReadOnly": v.ReadOnly}
		if v.Bind.Propagation != "" {
			mount["BindOptions"] = object{"Propagation": v.Bind.Propagation}
		}
		mounts = append(mounts, mount)
	}
	tmpfs := map[string]string{}
	for _, at := range s.Tmpfs {
		path, options, _ := strings.Cut(at, ":")
		tmpfs[path] = options
	}
	var environment []string
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		environment = append(environment, name+"="+s.Environment[name])
	}
	return object{
		"Image": image, "User": s.User, "Env": environment, "StopTimeout": int(stop.Seconds()),
		"HostConfig": object{
			"NetworkMode": s.NetworkMode, "ReadonlyRootfs": s.ReadOnly, "Tmpfs": tmpfs, "CapDrop": s.CapDrop, "CapAdd": s.CapAdd, "SecurityOpt": s.SecurityOpt,
			"RestartPolicy": object{"Name": s.Restart}, "Mounts": mounts,
		},
	}, nil
}
