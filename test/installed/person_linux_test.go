package installed

import (
	"strings"
)

// person is the user whose service is tried. The account is made in the machine.
const person = "person"

// as runs a command as that user, as a login would: with the runtime directory of the user's own systemd.
func (m *machine) as(words ...string) (string, error) {
	uid := strings.TrimSpace(m.run("id", "-u", person))
	login := []string{
		"setpriv", "--reuid=" + uid, "--regid=" + uid, "--clear-groups", "env", "-C", "/home/" + person, "HOME=/home/" + person, "USER=" + person, "XDG_RUNTIME_DIR=/run/user/" + uid,
	}
	return m.try(append(login, words...)...)
}

// does is as of a command that has to succeed.
func (m *machine) does(words ...string) string {
	m.Helper()
	out, err := m.as(words...)
	if err != nil {
		log, _ := m.try("journalctl", "--no-pager", "-n", "60")
		m.Fatalf("%s: %v\n%s\n%s", strings.Join(words, " "), err, out, log)
	}
	return out
}

// ofOnePerson: what `service install --user` says is enough for a service of a user without root, under a systemd of the user's own.
func ofOnePerson(m *machine) {
	m.run("useradd", "--create-home", "--shell", "/bin/sh", person)
	uid := strings.TrimSpace(m.run("id", "-u", person))
	m.run("install", "-d", "-m", "0700", "-o", person, "-g", person, "/run/user/"+uid)
	// Logins make that directory, and there is none here.
	m.run("mkdir", "-p", "/run/systemd/system/user@.service.d")
	m.write("/run/systemd/system/user@.service.d/here.conf", "[Unit]\nRequires=\nAfter=\n[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n")
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "start", "user@"+uid+".service")

	says, err := m.as("watcher", "service", "install", "--user")
	_, next, ok := strings.Cut(says, "next: make one, and an outbox: ")
	if err == nil || !ok {
		m.Fatalf("without a configuration it says %q, %v", says, err)
	}
	m.does("sh", "-ec", next)
	if _, err := m.try("test", "-e", "/sys/fs/cgroup/cgroup.controllers"); err != nil {
		// Older control groups cannot be delegated: the service does not start, its command says where the reason is, and the reason says what to do.
		says, err := m.as("watcher", "service", "install", "--user")
		if err == nil || !strings.Contains(says, "journalctl --user -n 20 -u torno-watcher") {
			m.Errorf("without limits it says %q, %v", says, err)
		}
		m.does("sh", "-ec", strings.Replace(next, "--dir", "--accept memory --accept pids --dir", 1))
	}
	m.does("watcher", "service", "install", "--user")
	m.until("the user's watcher serves", func() bool {
		state, _ := m.as("systemctl", "--user", "show", "--value", "-p", "SubState", "torno-watcher")
		if state == "failed\n" {
			log, _ := m.try("journalctl", "--no-pager", "-n", "60")
			m.Fatalf("it has failed\n%s", log)
		}
		return state == "running\n"
	})
	if says := m.does("env", "TORNO_OUTBOX=/home/"+person+"/outbox", "subagent", "spawn", "--wait", "--", "echo mine; id -u"); says != "mine\n"+uid+"\n" {
		m.Errorf("the child says %q", says)
	}
	m.does("systemctl", "--user", "reload", "torno-watcher")
	m.does("sh", "-c", "echo 'oops: 1' >>.config/torno/watcher.yaml")
	if says, err := m.as("systemctl", "--user", "reload", "torno-watcher"); err == nil {
		m.Errorf("a mistake is taken: %s", says)
	}
	if says := m.does("watcher", "service", "status", "--user"); !strings.Contains(says, "torno-watcher.service: current\n") || !strings.Contains(says, "active (running)") {
		m.Errorf("the status is\n%s", says)
	}
	m.does("watcher", "service", "uninstall", "--user")
	if state, _ := m.as("systemctl", "--user", "is-active", "torno-watcher"); state != "inactive\n" {
		m.Errorf("behind its end it is %s", state)
	}
	if left, _ := m.try("pgrep", "-u", uid, "-af", "usr/lib/torno|runsc"); left != "" {
		m.Errorf("left are\n%s", left)
	}
	m.run("systemctl", "stop", "user@"+uid+".service")
}
