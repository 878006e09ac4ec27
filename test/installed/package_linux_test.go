package installed

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"torno/test/attack"
)

// dist makes the packages for this machine, and returns the sums of all.
func dist(t *testing.T, sources, to, version string) string {
	t.Helper()
	return distFor(t, sources, to, version, "linux/"+runtime.GOARCH)
}

func distFor(t *testing.T, sources, to, version string, platforms ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(sources, "scripts/dist"), append([]string{to}, platforms...)...)
	command.Dir = sources
	command.Env = append(os.Environ(), "VERSION="+version, "SOURCE_DATE_EPOCH=1700000000", "TMPDIR="+t.TempDir())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("dist: %v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(to, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return string(sums)
}

// packaged is the .deb of a version, as the machine sees it.
func packaged(version string) string {
	return "/debs/" + version + "/torno_" + strings.TrimPrefix(version, "v") + "_" + runtime.GOARCH + ".deb"
}

// sameBytes makes the packages of a version once more: in other directories, at another time.
func sameBytes(t *testing.T, one, version string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "another", "place")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	copied := exec.Command("sh", "-c", `tar -c --exclude=bin/machine --exclude=.git . | tar -x -m -C "$1"`, "sh", elsewhere)
	copied.Dir = attack.Root()
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if other := dist(t, elsewhere, t.TempDir(), version); one != other {
		t.Errorf("the sums are\n%s\nand then\n%s", one, other)
	}
	for _, kind := range []string{".deb", ".rpm", ".tar.gz", ".cdx.json"} {
		if !strings.Contains(one, kind+"\n") {
			t.Errorf("there is no %s:\n%s", kind, one)
		}
	}
}

// TestThePackage is the life of one, from its installation to the purge.
func TestThePackage(t *testing.T) {
	need(t)
	packages := t.TempDir()
	if err := os.Chmod(packages, 0o755); err != nil {
		t.Fatal(err)
	}
	var sums string
	for _, version := range []string{"v0.0.2", "v0.0.1"} {
		sums = dist(t, attack.Root(), filepath.Join(packages, version), version)
	}
	if !t.Run("two builds are one", func(t *testing.T) { sameBytes(t, sums, "v0.0.1") }) {
		return
	}
	m := boot(t, packages)
	for _, step := range []struct {
		name string
		does func(*machine)
	}{
		{"installed, nothing is started", installed},
		{"the units are what systemd understands", understood},
		{"it serves", serves},
		{"a reload tells its result", reloads},
		{"a watcher that stands still is started again, and children go on", standsStill},
		{"upgraded under a child", upgraded},
		{"a command makes a service of another program", serviceCommand},
		{"a service of one person", ofOnePerson},
		{"purged with something mounted", purgedUnderAMount},
		{"purged with its state elsewhere", purgedElsewhere},
	} {
		passed := t.Run(step.name, func(t *testing.T) {
			m.TB = t
			step.does(m)
		})
		m.TB = t
		if !passed {
			return // each step goes on where the one before has ended
		}
	}
}

func installed(m *machine) {
	m.run("dpkg", "-i", packaged("v0.0.1"))
	if state, _ := m.try("systemctl", "is-active", "torno-watcher"); state != "inactive\n" {
		m.Errorf("the service is %s", state)
	}
	if says := m.run("watcher", "version"); !strings.HasPrefix(says, "watcher v0.0.1,") {
		m.Errorf("it says %q", says)
	}
	m.run("bash", "-n", "/usr/share/bash-completion/completions/watcher")
	if page := m.run("zcat", "/usr/share/man/man1/watcher.1.gz"); !strings.Contains(page, `.SH "EXIT STATUS"`) {
		m.Errorf("the page is\n%s", page)
	}
	m.run("getent", "passwd", "torno-gateway")
	m.run("dpkg", "--verify", "torno")
}

// understood has systemd judge: no word that it does not know, and no wall less than there were.
func understood(m *machine) {
	if says := m.run("systemd-analyze", "verify", "/usr/lib/systemd/system/torno-watcher.service", "/usr/lib/systemd/system/torno-gateway.service"); strings.Contains(says, "torno") {
		m.Errorf("verify says\n%s", says)
	}
	m.run("mkdir", "-p", "/run/user/0")
	says := m.run("env", "XDG_RUNTIME_DIR=/run/user/0", "systemd-analyze", "verify", "--user", "/usr/lib/systemd/user/torno-watcher.service")
	for line := range strings.Lines(says) {
		if strings.Contains(line, "torno") && !strings.Contains(line, "DelegateSubgroup") { // which older ones leave out
			m.Errorf("verify says %q", line)
		}
	}
	for unit, most := range map[string]string{"torno-watcher": "75", "torno-gateway": "25"} {
		m.run("systemd-analyze", "security", "--no-pager", "--threshold="+most, unit+".service")
	}
}

func serves(m *machine) {
	m.run("install", "-d", "-m", "0770", "-o", "1000", "-g", "1000", "/srv/torno/outbox", "/srv/torno/outbox/workspaces")
	m.run("watcher", "check", "--config", "/etc/torno/watcher.yaml")
	m.run("systemctl", "enable", "--now", "torno-watcher")
	if says := m.agent("subagent", "spawn", "--wait", "--", "echo hello"); says != "hello\n" {
		m.Errorf("the child says %q", says)
	}
	if every := m.property("WatchdogUSec"); every != "1min" {
		m.Errorf("systemd waits %s for a sign of life", every)
	}
}

func reloads(m *machine) {
	const file = "/etc/torno/watcher.yaml"
	before := m.run("cat", file)
	m.write(file, before+"oops: 1\n")
	m.fails("systemctl", "reload", "torno-watcher")
	if said := m.fails("watcher", "reload"); !strings.Contains(said, "oops: is not a known key") {
		m.Errorf("the command says %q", said)
	}
	if says := m.agent("subagent", "spawn", "--wait", "--", "echo still"); says != "still\n" {
		m.Errorf("behind a mistake a child says %q", says)
	}
	m.write(file, before+"max_running: 3\n")
	pid := m.property("MainPID")
	m.run("systemctl", "reload", "torno-watcher")
	if status := m.run("sh", "-c", "cat /srv/torno/outbox/watcher.json"); !strings.Contains(strings.ReplaceAll(status, " ", ""), `"running":3`) {
		m.Errorf("behind a reload the outbox says %s", status)
	}
	if m.property("MainPID") != pid || m.property("SubState") != "running" {
		m.Errorf("the service is %s, process %s before %s", m.property("SubState"), m.property("MainPID"), pid)
	}
}

// child starts one that ends when it is told to.
func (m *machine) child(id string) {
	m.Helper()
	m.agent("subagent", "spawn", "--id", id, "--", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo went")
	m.until("the child runs", func() bool {
		said, _ := m.try("watcher", "logs", id)
		return strings.Contains(said, "begun")
	})
}

// goes tells it to, and wants it to be the one that began.
func (m *machine) goes(id string) {
	m.Helper()
	m.agent("touch", "/srv/torno/outbox/workspaces/"+id+"/go")
	if says := m.agent("subagent", "wait", id); says != "begun\nwent\n" {
		m.Errorf("the child says %q", says)
	}
}

func standsStill(m *machine) {
	m.child("patient")
	m.run("mkdir", "-p", "/run/systemd/system/torno-watcher.service.d")
	m.write("/run/systemd/system/torno-watcher.service.d/soon.conf", "[Service]\nWatchdogSec=2\n")
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "restart", "torno-watcher")
	pid := m.property("MainPID")
	m.run("kill", "-STOP", pid)
	m.until("another watcher runs", func() bool { now := m.property("MainPID"); return now != pid && now != "0" })
	m.until("systemd says so", func() bool { return m.property("NRestarts") != "0" && m.property("SubState") == "running" })
	m.run("rm", "-r", "/run/systemd/system/torno-watcher.service.d")
	m.run("systemctl", "daemon-reload")
	m.goes("patient")
}

func upgraded(m *machine) {
	m.child("long")
	pid := m.property("MainPID")
	m.run("dpkg", "-i", packaged("v0.0.2"))
	m.until("the new one serves", func() bool { return m.property("SubState") == "running" })
	if now := m.property("MainPID"); now == pid {
		m.Error("the watcher was not restarted")
	}
	if status := m.run("cat", "/srv/torno/outbox/watcher.json"); !strings.Contains(status, "v0.0.2") {
		m.Errorf("the outbox says %s", status)
	}
	m.goes("long")
}

// serviceCommand: the package's unit gives way to one of the command's, which removes no other.
func serviceCommand(m *machine) {
	m.run("watcher", "service", "install")
	if unit := m.run("systemctl", "cat", "torno-watcher"); !strings.Contains(unit, "ExecStart=/usr/lib/torno/watcher run --config /etc/torno/watcher.yaml\n") {
		m.Errorf("the unit is\n%s", unit)
	}
	if says := m.run("watcher", "service", "status"); !strings.Contains(says, "torno-watcher.service: current\n") || !strings.Contains(says, "active (running)") {
		m.Errorf("the status is\n%s", says)
	}
	m.run("watcher", "service", "uninstall")
	m.write("/etc/systemd/system/torno-watcher.service", "[Service]\nExecStart=/bin/true\n")
	if says := m.fails("watcher", "service", "uninstall"); !strings.Contains(says, "was not made by") {
		m.Errorf("of somebody else's unit it says %q", says)
	}
	m.fails("watcher", "service", "install")
	m.run("rm", "/etc/systemd/system/torno-watcher.service")
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "enable", "--now", "torno-watcher")
}

// purgedUnderAMount: a child's sandbox goes with the package, and what is mounted below the state is nobody's to remove.
func purgedUnderAMount(m *machine) {
	m.child("last")
	m.run("mkdir", "-p", "/var/lib/torno/theirs", "/srv/torno/precious")
	m.write("/srv/torno/precious/file", "theirs")
	m.run("mount", "--bind", "/srv/torno/precious", "/var/lib/torno/theirs")
	m.run("dpkg", "--purge", "torno")
	if kept := m.run("cat", "/srv/torno/precious/file"); kept != "theirs" {
		m.Errorf("behind the purge the file holds %q", kept)
	}
	m.run("test", "-e", "/var/lib/torno/journal.db")
	if left, _ := m.try("pgrep", "-af", "usr/lib/torno|runsc"); left != "" {
		m.Errorf("left are\n%s", left)
	}
	m.run("umount", "/var/lib/torno/theirs")
	m.run("dpkg", "-i", packaged("v0.0.2"))
	m.run("dpkg", "--purge", "torno")
	if left := m.run("sh", "-c", "ls -d /var/lib/torno/* /etc/torno* 2>/dev/null || true"); left != "" {
		m.Errorf("left is\n%s", left)
	}
}

// purgedElsewhere: the state that the configuration names loses its sandboxes with the package, and stays, which the removal says, and the purge.
func purgedElsewhere(m *machine) {
	const file, stays = "/etc/torno/watcher.yaml", "/srv/torno/state stays"
	m.run("dpkg", "-i", packaged("v0.0.2"))
	m.run("sed", "-i", `s|^state:.*|"state":   '/srv/torno/state' # by hand|`, file)
	m.run("systemctl", "restart", "torno-watcher")
	m.agent("subagent", "spawn", "--id", "elsewhere", "--", "echo begun; sleep 3600")
	m.until("the child runs", func() bool {
		said, _ := m.try("watcher", "logs", "--state", "/srv/torno/state", "elsewhere")
		return strings.Contains(said, "begun")
	})
	for _, how := range []string{"--remove", "--purge"} {
		if says := m.run("dpkg", how, "torno"); !strings.Contains(says, stays) {
			m.Errorf("dpkg %s says %q", how, says)
		}
		if left, _ := m.try("pgrep", "-af", "usr/lib/torno|runsc"); left != "" {
			m.Errorf("behind %s are left\n%s", how, left)
		}
	}
	m.run("test", "-e", "/srv/torno/state/journal.db")
	if left := m.run("sh", "-c", "ls -d /var/lib/torno/* /etc/torno* 2>/dev/null || true"); left != "" {
		m.Errorf("left is\n%s", left)
	}
}
