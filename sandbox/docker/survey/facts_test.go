package survey

import (
	"strings"
	"testing"

	dockersystem "github.com/docker/docker/api/types/system"
)

func fitEngine() dockersystem.Info {
	return dockersystem.Info{
		ServerVersion: "20.10.24", Architecture: "x86_64", NCPU: 2, MemoryLimit: true, SwapLimit: true, CPUCfsPeriod: true,
		CPUCfsQuota: true, PidsLimit: true, SecurityOptions: []string{"name=seccomp,profile=default", "name=apparmor"},
		Plugins: dockersystem.PluginsInfo{Log: []string{"json-file", "local"}}, RuncCommit: dockersystem.Commit{ID: "1.1.5+ds1-1+deb12u1"},
	}
}

func TestFactsOfAFitEngine(t *testing.T) {
	f, err := FactsOf(fitEngine(), "")
	if err != nil || f.Arch != "amd64" || f.CPUs != 2000 {
		t.Fatalf("%+v, %v", f, err)
	}
	for key, has := range f.Limits {
		if !has {
			t.Errorf("%s is missing", key)
		}
	}
}

func TestEnginesThatHoldNoSandbox(t *testing.T) {
	for want, spoil := range map[string]func(*dockersystem.Info){
		"riscv64":  func(i *dockersystem.Info) { i.Architecture = "riscv64" },
		"seccomp":  func(i *dockersystem.Info) { i.SecurityOptions = []string{"name=seccompX"} },
		"rootless": func(i *dockersystem.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=rootless") },
		"remaps":   func(i *dockersystem.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=userns") },
		`"local"`:  func(i *dockersystem.Info) { i.Plugins.Log = []string{"json-file"} },
	} {
		info := fitEngine()
		spoil(&info)
		if _, err := FactsOf(info, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
