package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torno/test/house"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m)) }

// row is a shell block of a page and what the tests do with it beyond reading it.
type row struct{ page, first, how string }

// The stories that run a block as it is printed. Any other text in a row is the reason why these tests cannot run it.
const (
	byHand  = "TestTheFirstMinute"
	gateway = "TestTheGatewayAlone"
)

// table has every shell block of the pages.
var table = []row{
	{"README.md", `make build && export PATH="$PWD/bin:$PATH"`, byHand},
	{"README.md", `export PATH="$PWD/bin:$PATH" TORNO_OUTBOX="$PWD/outbox"`, byHand},
	{"README.md", "watcher run --dir ./outbox --agent claude", "it needs a vendor's key; package test/clients runs Claude Code against a stand-in"},
	{"README.md", `docker run -it --network none --cap-drop ALL --user "$(stat -c %u:%g outbox)" -v "$PWD/outbox:/outbox" \`, "IMAGE is the reader's own"},
	{"README.md", "claude mcp add torno -- subagent mcp", "package test/clients runs it with the real clients"},
	{"docs/CLIENT.md", "subagent spawn --wait -- 'id; echo hello'", byHand},
	{"docs/CLIENT.md", "id=$(subagent spawn --copy . -- 'fix the failing test')", byHand},
	{"docs/GATEWAY.md", "go run ./test/upstream --listen 127.0.0.1:9999 --key sk-stand-in-0123456789", gateway},
	{"docs/GATEWAY.md", "make build", gateway},
	{"docs/GATEWAY.md", "curl --unix-socket gateway-state/gateway.sock http://gateway/v1/doors -d '{", gateway},
	{"docs/MCP.md", "claude mcp add torno -- subagent mcp", "package test/clients runs it with the real clients"},
	{"docs/MCP.md", "mkdir -m 700 ~/.torno", "the stories of cmd/subagent run its server and what its clients start"},
	{"docs/MCP.md", `claude mcp add --transport http torno http://127.0.0.1:8765/mcp --header "Authorization: Bearer TOKEN"`, "TOKEN is of the reader's own server"},
	{"docs/OPERATIONS.md", "make build", byHand},
	{"docs/OPERATIONS.md", "bin/subagent --outbox ./outbox spawn --wait -- 'echo hello'", byHand},
	{"docs/OPERATIONS.md", "watcher run --dir ./outbox --programs /usr/local/go", "two ways to start a watcher, of which one runs; test/e2e starts one with programs"},
	{"docs/OPERATIONS.md", "watcher run --dir ./outbox --accept memory --accept pids", "it is for an ordinary user; test/e2e starts one"},
	{"docs/OPERATIONS.md", "systemd-run --user --scope -p Delegate=yes watcher run --dir ./outbox", "it needs a booted systemd"},
	{"docs/OPERATIONS.md", "install -d ~/.config/torno ~/outbox/workspaces", "TestAUsersConfiguration, up to the service, which needs a booted systemd"},
	{"docs/OPERATIONS.md", "sudo dpkg -i torno_VERSION_amd64.deb", "it changes the machine; test/installed installs the package in one of its own"},
	{"docs/OPERATIONS.md", "sudo install -D -m 0644 contrib/systemd/registries.conf /etc/systemd/system/torno-watcher.service.d/registries.conf", "it changes the machine"},
	{"docs/OPERATIONS.md", "sudo install -m 0755 bin/model-gateway /usr/local/bin/", "it changes the machine; test/units runs the gateway behind the unit's walls"},
	{"docs/OPERATIONS.md", "watcher outbox accept main --same", "it needs an outbox that has moved; test/e2e moves one"},
	{"docs/OPERATIONS.md", "watcher ps", "some of it needs a terminal, or a question that waits; the tests of cmd/watcher run each"},
	{"docs/OPERATIONS.md", "curl -s --unix-socket /var/lib/torno/control.sock http://watcher/v1/status", byHand},
	{"docs/OPERATIONS.md", "curl -s --unix-socket /var/lib/torno/control.sock http://watcher/metrics", byHand},
	{"docs/OPERATIONS.md", "watcher ps --pool", byHand},
	{"docs/OPERATIONS.md", "watcher doctor --config /etc/torno/watcher.yaml", "there is no installed configuration; the first minute runs the command with --dir"},
	{"docs/OPERATIONS.md", "watcher purge --config /etc/torno/watcher.yaml", "there is no installed configuration; the first minute runs the command with --dir"},
	{"docs/from/jarvis.md", "claude mcp add jarvis -- subagent mcp --tools jarvis", "package test/clients runs it with the real client"},
	{"docs/from/massgen.md", "claude mcp add massgen -- subagent mcp --tools massgen", "package test/clients runs it with the real client"},
	{"docs/from/stakpak.md", "claude mcp add stakpak -- subagent mcp --tools stakpak", "package test/clients runs it with the real client"},
	{"docs/homes/laptop.md", `make build && export PATH="$PWD/bin:$PATH"`, byHand},
	{"docs/homes/laptop.md", `export PATH="$PWD/bin:$PATH" TORNO_OUTBOX="$PWD/outbox"`, byHand},
	{"docs/homes/laptop.md", "watcher purge --dir ./outbox", byHand},
	{"docs/homes/laptop.md", "install -d ~/.config/torno ~/outbox/workspaces", "TestAUsersConfiguration, up to the service, which needs a booted systemd"},
	{"docs/homes/mac.md", "make build", "it is for a Mac"},
	{"docs/homes/mac.md", "export TORNO_OUTBOX=~/outboxes/main", "it is for a Mac; the first minute runs the same with another directory"},
	{"docs/homes/service.md", "sudo dpkg -i torno_VERSION_amd64.deb", "it changes the machine; test/installed installs the package in one of its own"},
	{"docs/homes/service.md", "make build", "it changes the machine; test/scripts installs into a directory"},
	{"docs/homes/service.md", "sudo install -d -m 0770 -o 1000 -g 1000 /srv/torno/outbox /srv/torno/outbox/workspaces", "it changes the machine; test/installed does it in one of its own"},
	{"docs/homes/service.md", "sudo systemctl enable --now torno-watcher", "it needs a booted systemd; test/installed has one"},
	{"docs/homes/service.md", "systemctl status torno-watcher", "it needs a booted systemd"},
	{"docs/homes/sidecar.md", "make demo-sidecar", "it needs an engine; the tests of test/demo run it"},
	{"docs/homes/sidecar.md", "make build", "it needs an engine and compose; test/demo builds the image and starts both containers as compose.yaml says"},
	{"docs/homes/sidecar.md", "docker compose -f contrib/sidecar/compose.yaml exec agent subagent spawn --wait -- 'echo hello'", "it needs an engine and compose"},
	{"docs/PROTOCOL.md", "cat > outbox/hello.new <<'END'", byHand},
}

// shellBlocks are those of all pages, by page.
func shellBlocks(t *testing.T) (all []block) {
	t.Helper()
	for path, text := range pages(t) {
		for _, b := range blocks(strings.TrimPrefix(path, root+"/"), text) {
			if b.looksTyped() {
				t.Errorf("%s:%d: begin this block with ```sh, so that the tests read it", b.page, b.line)
			}
			if b.shell() {
				all = append(all, b)
			}
		}
	}
	return all
}

// named is the one block of a row.
func named(t *testing.T, page, first string) block {
	t.Helper()
	for _, b := range shellBlocks(t) {
		if b.page == page && b.first() == first {
			return b
		}
	}
	t.Fatalf("%s has no block that begins with %q", page, first)
	return block{}
}

// TestEachBlockIsKnown: a new block gets a row, with the story that runs it or the reason why none can.
func TestEachBlockIsKnown(t *testing.T) {
	found := map[row]bool{}
	for _, b := range shellBlocks(t) {
		i := slices.IndexFunc(table, func(r row) bool { return r.page == b.page && r.first == b.first() })
		if i < 0 {
			t.Errorf("%s:%d: the table of the tests does not have the block %q", b.page, b.line, b.first())
			continue
		}
		found[table[i]] = true
	}
	for _, r := range table {
		if !found[r] {
			t.Errorf("%s has no block %q any more", r.page, r.first)
		}
	}
}

// TestEachBlockIsRead has a real shell read each block, where every program only reads its arguments.
func TestEachBlockIsRead(t *testing.T) {
	for _, b := range shellBlocks(t) {
		if said := dry(t, b.text); said != "" {
			t.Errorf("%s:%d:\n%s", b.page, b.line, said)
		}
	}
}

// TestTheMovingTerminalIsRead: what is typed in the README's picture is as true as the page.
func TestTheMovingTerminalIsRead(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, "test/terminal/session.sh"))
	must(t, err)
	if said := dry(t, string(script)); said != "" {
		t.Error(said)
	}
}

// TestTheExamplesAreRead: what the comments of an example have people type, and that each has such a comment.
func TestTheExamplesAreRead(t *testing.T) {
	for path, told := range comments(t) {
		switch {
		case told == "" && filepath.Base(path) != "full.yaml": // which explains keys, and is not run as it is
			t.Errorf("%s does not say what to type", path)
		case told != "":
			if said := dry(t, told); said != "" {
				t.Errorf("%s: %s", path, said)
			}
		}
	}
}

// typed is a line of a comment that is meant to be typed.
var typed = regexp.MustCompile(`(?m)^#   ((?:sudo|make|watcher|[A-Z_]+=) ?.*)$`)

// comments are what the comments of the examples have people type, by path.
func comments(t *testing.T) map[string]string {
	t.Helper()
	examples, err := filepath.Glob(filepath.Join(root, "configs/examples/*.yaml"))
	must(t, err)
	all := map[string]string{}
	for _, path := range append(examples, root+"/contrib/sidecar/compose.yaml", root+"/contrib/sidecar/Dockerfile", root+"/contrib/systemd/registries.conf") {
		text, err := os.ReadFile(path)
		must(t, err)
		all[path] = ""
		for _, line := range typed.FindAllStringSubmatch(string(text), -1) {
			all[path] += line[1] + "\n"
		}
	}
	return all
}

// TestAMistakeOnAPageIsFound: what the reading is for.
func TestAMistakeOnAPageIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"watcher ps --al":                                   `unknown option "--al"`,
		"sudo watcher pss":                                  `unknown command "pss"`,
		"id=$(subagent spwan -- x)":                         `unknown command "spwan"`,
		"subagent spawn --timeout soon -- x":                "is not a positive duration",
		"systemd-run --user watcher run --dri x":            `unknown option "--dri"`,
		"claude mcp add torno -- subagent mpc":              `unknown command "mpc"`,
		"make dmeo":                                         "dmeo",
		"teleport --now":                                    "teleport: command not found",
		"watcher ps 'unfinished":                            "unexpected EOF",
		"watcher check > ~/.config/nowhere/watcher.yaml":    "No such file or directory",
		"sudo install contrib/systemd/nothing.service /etc": "there is no contrib/systemd/nothing.service",
	} {
		if said := dry(t, text); !strings.Contains(said, want) {
			t.Errorf("%q: %q does not say %q", text, said, want)
		}
	}
	if said := dry(t, "cd outbox && watcher ps -a | watcher ps 2>&1 && make build"); said != "" {
		t.Errorf("nothing is wrong, and yet: %s", said)
	}
}

func TestBlocksAreFound(t *testing.T) {
	page := strings.ReplaceAll("'''sh\nwatcher ps  # all\n'''\n- x\n  '''json name.json\n  {}\n  '''\n'''\nsudo watcher top\n'''\n'''sh\nopen\n", "'''", "```")
	found := blocks("p", page)
	if len(found) != 4 || found[0].first() != "watcher ps" || !found[0].shell() || found[1].info != "json name.json" || found[1].looksTyped() ||
		!found[2].looksTyped() || found[2].line != 8 || found[3].text != "open\n" {
		t.Errorf("found %+v", found)
	}
}

// programs are those that a page may have people type.
var programs = []string{
	"watcher", "subagent", "model-gateway", "make", "go", "sudo", "systemd-run", "systemctl", "sudoedit", "dpkg", "rpm", "install", "useradd", "docker",
	"claude", "codex", "curl", "mkdir", "mv", "cat", "stat", "id", "colima", "env", "grep", "loginctl", "cp", "journalctl",
}

// dry has a shell read a block in a directory of its own, in which every program is one that only reads its arguments, and says what is wrong.
func dry(t *testing.T, text string) string {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, made := range []string{bin, filepath.Join(dir, "outbox"), filepath.Join(dir, "src")} {
		must(t, os.Mkdir(made, 0o755))
	}
	program, err := filepath.Abs("testdata/dry")
	must(t, err)
	for _, name := range programs {
		must(t, os.Symlink(program, filepath.Join(bin, name)))
	}
	project, err := filepath.Abs(root)
	must(t, err)
	realMake, err := exec.LookPath("make")
	must(t, err)
	wrong := filepath.Join(dir, "wrong")
	shell := exec.Command("bash", "-c", text)
	shell.Dir = dir
	shell.Env = []string{
		"PATH=" + bin, "HOME=" + home, "WRONG=" + wrong, "PROGRAMS=" + house.Program(""), "PROJECT=" + project, "REAL_MAKE=" + realMake,
		"REAL_PATH=" + os.Getenv("PATH"),
	}
	var said strings.Builder
	shell.Stderr = &said
	if err := shell.Run(); err != nil {
		said.WriteString(err.Error() + "\n")
	}
	noted, err := os.ReadFile(wrong)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^bash: (line \d+: )?`).ReplaceAllString(said.String(), "") + string(noted)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
