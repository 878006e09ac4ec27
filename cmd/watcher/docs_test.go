package main

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"torno/configs"
	"torno/internal/cli"
	"torno/sandbox/launchers"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOperationsPageIsTrue holds what an operator reads against the program.
func TestOperationsPageIsTrue(t *testing.T) {
	page := read(t, "docs/OPERATIONS.md")
	for code, meaning := range exitCodes {
		if want := "| " + string(rune('0'+code)) + " | " + meaning + " |"; !strings.Contains(page, want) {
			t.Errorf("exit code %d is not there as %q", code, want)
		}
	}
	codes := []string{"usage", "configuration", "host", "no_engine", "no_launcher", "no_runsc", "no_gvisor", "platform", "stranded", "no_init", "held", "failure"}
	for _, known := range troubles {
		codes = append(codes, known.code)
	}
	for _, code := range codes {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("the code %s is not explained", code)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("../../docs", link[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	for _, path := range regexp.MustCompile(`contrib/[a-z./-]+[a-z]`).FindAllString(page, -1) {
		if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
			t.Errorf("a file is not there: %v", err)
		}
	}
	checkCommands(t, page)
	checkMessages(t, page)
}

// checkCommands reads every command line of a page as the program would.
func checkCommands(t *testing.T, page string) {
	commands := newApp(launchers.All).Commands
	lines := regexp.MustCompile("(?m)(?:^|`|sudo |bin/)watcher ([a-z]+)((?: [^`#\n]*)?)(?:[`#]|$)").FindAllStringSubmatch(page, -1)
	if len(lines) < 10 {
		t.Fatalf("only %d commands were found", len(lines))
	}
	for _, line := range lines {
		i := slices.IndexFunc(commands, func(c cli.Command) bool { return c.Name == line[1] })
		if i < 0 && line[1] != "help" {
			t.Errorf("%q: there is no such command", line[0])
			continue
		}
		for _, word := range strings.Fields(line[2]) {
			known := func(o cli.Option) bool { return word == "--"+o.Name || word == "-"+o.Short }
			if strings.HasPrefix(word, "-") && !slices.ContainsFunc(commands[i].Options, known) {
				t.Errorf("%q: there is no %s", line[0], word)
			}
		}
	}
}

// checkMessages looks for the log messages of the page in the sources.
func checkMessages(t *testing.T, page string) {
	_, logs, _ := strings.Cut(page, "## Logs")
	logs, _, _ = strings.Cut(logs, "\n## ")
	sources := sourceText(t)
	rows := regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(logs, -1)
	for _, row := range rows {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			said, _, _ := strings.Cut(message[1], " DIR")
			said = strings.TrimSuffix(said, " …")
			if !strings.Contains(sources, `"`+said) {
				t.Errorf("nothing logs %q", said)
			}
		}
	}
	if len(rows) < 10 {
		t.Errorf("only %d rows of messages were found", len(rows))
	}
}

func sourceText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"watcher", "internal/gateway/process", "internal/retry", "internal/serve", "sandbox/docker", "sandbox/gvisor", "sandbox/local"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			all.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// namespaces are the settings of a unit that give the service a mount namespace, from which mounts do not arrive.
var namespaces = regexp.MustCompile(`^(Protect(System|Home|Kernel\w+|ControlGroups|Proc)|ProcSubset|Private(Tmp|Devices|Mounts|Users|Network|IPC)|` +
	`(ReadWrite|ReadOnly|Inaccessible|Exec|NoExec)Paths|Bind(ReadOnly)?Paths|TemporaryFileSystem|MountFlags|MountImages|ExtensionImages|` +
	`Root(Directory|Image)|DynamicUser|RuntimeDirectory|LoadCredential\w*|JoinsNamespaceOf|MountAPIVFS)=`)

func TestTheUnitLetsMountsArrive(t *testing.T) {
	unit := read(t, "contrib/systemd/torno-watcher.service")
	settings := map[string]string{}
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		if namespaces.MatchString(line) {
			t.Errorf("%s: mounts by handle would not arrive", line)
		}
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[name] = value
		}
	}
	checkCommands(t, strings.Repeat("`"+strings.TrimPrefix(settings["ExecStart"], "/usr/local/bin/")+"` ", 10))
	if settings["Type"] != "notify" || settings["RestartPreventExitStatus"] != "2" || settings["StateDirectory"] != filepath.Base(unitState) {
		t.Errorf("the unit says %v", settings)
	}
	local, _, err := configs.Local(launchers.All, configs.LocalOptions{Dir: t.TempDir() + "/o", State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := time.ParseDuration(settings["TimeoutStopSec"] + "s"); err != nil || stop < 2*local.Shutdown.Budget {
		t.Errorf("systemd waits %v, %v, and a shutdown takes %v and the time to clean up", stop, err, local.Shutdown.Budget)
	}
}

func TestTheSidecarFits(t *testing.T) {
	config, warnings, err := configs.Load(launchers.All, "../../contrib/sidecar/watcher.yaml")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var compose struct {
		Services map[string]struct {
			Volumes []any
			StopFor string `yaml:"stop_grace_period"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "contrib/sidecar/compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{} // by the path in the container
	for _, v := range compose.Services["watcher"].Volumes {
		switch v := v.(type) {
		case string:
			parts := strings.Split(v, ":")
			seen[parts[1]] = parts[0]
		case map[string]any:
			seen[v["target"].(string)] = v["source"].(string)
		}
	}
	for _, dir := range []string{config.State, config.Outboxes[0].Dir} {
		if seen[dir] != dir {
			t.Errorf("%s is %q to the engine, which has to find it", dir, seen[dir])
		}
	}
	if seen[config.EngineSockets()[0]] == "" {
		t.Errorf("the engine's socket is not at %s", config.EngineSockets()[0])
	}
	agent := compose.Services["agent"].Volumes[0].(string)
	if path := config.Outboxes[0].Paths[0]; agent != path.Here+":"+path.Parent {
		t.Errorf("the agent sees %s, the watcher thinks of %+v", agent, path)
	}
	if wait, err := time.ParseDuration(compose.Services["watcher"].StopFor); err != nil || wait < 2*config.Shutdown.Budget {
		t.Errorf("compose waits %v, %v", wait, err)
	}
	if !strings.Contains(read(t, "contrib/sidecar/Dockerfile"), `CMD ["run", "--config", "/etc/torno/watcher.yaml"]`) || seen["/etc/torno/watcher.yaml"] == "" {
		t.Error("the image does not run what compose mounts")
	}
	for _, p := range config.Profiles {
		if p.Sandbox != "docker" {
			t.Errorf("the profile %s is for %s, which the container cannot have", p.Name, p.Sandbox)
		}
	}
}

// TestTheSidecarHasAllPrograms holds what the image takes from bin/ against what lies there: all but the parent's own.
func TestTheSidecarHasAllPrograms(t *testing.T) {
	copied := regexp.MustCompile(`(?m)^COPY (.*) /usr/local/bin/$`).FindStringSubmatch(read(t, "contrib/sidecar/Dockerfile"))
	built := regexp.MustCompile(`(?m)^ALL +:= (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if copied == nil || built == nil {
		t.Fatalf("nothing was found: %q, %q", copied, built)
	}
	want := append(slices.DeleteFunc(strings.Fields(built[1]), func(name string) bool { return name == "subagent" }), "runsc")
	if got := strings.Fields(copied[1]); !slices.Equal(got, want) {
		t.Errorf("the image has %v, want %v", got, want)
	}
}

// TestTheSidecarHasTheServicesCapabilities but the one that is gVisor's, which does not work in there by default, and the one for
// looking into sandboxes, which is for nothing without the host's processes.
func TestTheSidecarHasTheServicesCapabilities(t *testing.T) {
	unit := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindStringSubmatch(read(t, "contrib/systemd/torno-watcher.service"))
	sidecar := regexp.MustCompile(`(?m)^    cap_add: \[(.*)\]$`).FindStringSubmatch(read(t, "contrib/sidecar/compose.yaml"))
	if unit == nil || sidecar == nil {
		t.Fatalf("nothing was found: %q, %q", unit, sidecar)
	}
	want := strings.Fields(strings.ReplaceAll(unit[1], "CAP_", ""))
	got := append(strings.Split(sidecar[1], ", "), "SYS_CHROOT", "SYS_PTRACE")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("with these two the sidecar has %v, and the service %v", got, want)
	}
}

func TestThePropertyListIsXML(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(read(t, "contrib/launchd/dev.torno.vm.plist")))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
