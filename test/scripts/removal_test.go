package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// removal is a machine from which a package is removed: directories of the test's, and a watcher that notes what it is told.
type removal struct {
	*testing.T
	dir   string
	names *strings.Replacer
}

func newRemoval(t *testing.T) *removal {
	dir := t.TempDir()
	return &removal{t, dir, strings.NewReplacer("USUAL", dir+"/usual", "OTHER", dir+"/other place", "THEIRS", dir+"/theirs", "CONFIG", dir+"/watcher.yaml")}
}

func (r *removal) put(path, text string, mode os.FileMode) {
	r.Helper()
	path = filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(r.names.Replace(text)), mode); err != nil {
		r.Fatal(err)
	}
}

func (r *removal) has(path string) bool {
	_, err := os.Stat(r.names.Replace(path))
	return err == nil
}

// script executes a script of a package, and returns what it says.
func (r *removal) script(script, argument string) string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join("../../contrib/package", script))
	if err != nil {
		r.Fatal(err)
	}
	here := strings.NewReplacer("/etc/torno/watcher.yaml", "CONFIG", "/var/lib/torno", "USUAL", "/run/systemd/system", r.dir+"/none")
	r.put("script", here.Replace(string(text)), 0o755)
	run := exec.Command(r.dir+"/script", argument)
	run.Env = append(os.Environ(), "PATH="+r.dir+"/bin:"+os.Getenv("PATH"))
	said, err := run.CombinedOutput()
	if err != nil {
		r.Fatalf("%s: %v\n%s", script, err, said)
	}
	return string(said)
}

// What a watcher says to a purge of a state.
const (
	purgedUsual = `{"gateway":"","purged":"i","state":"USUAL"}`
	purgedOther = `{"gateway":"","purged":"i","state":"OTHER"}`
	noState     = `{"error":{"code":"no_state","text":"no watcher has run with the state directory"},"exit":1}`
	unread      = `{"error":{"code":"configuration","text":"CONFIG cannot be used:"},"exit":2}`
)

// TestARemovedPackageEndsTheSandboxesOfItsState, wherever that is: the watcher knows it from its configuration, whatever that looks like.
func TestARemovedPackageEndsTheSandboxesOfItsState(t *testing.T) {
	const byConfig, byState = "purge --yes --json --config CONFIG\n", "purge --yes --json --state USUAL\n"
	for name, c := range map[string]struct {
		says  string // the watcher, of what its configuration names
		usual bool   // there is a state in the usual place
		calls string
		told  string // else it is silent
	}{
		"the usual place":               {says: purgedUsual, usual: true, calls: byConfig},
		"another place":                 {says: purgedOther, calls: byConfig, told: "OTHER stays"},
		"an earlier one, too":           {says: purgedOther, usual: true, calls: byConfig + byState, told: "OTHER stays"},
		"a gateway's":                   {says: `{"gateway":"THEIRS","purged":"i","state":"USUAL"}`, usual: true, calls: byConfig, told: "THEIRS stays"},
		"nothing has run here":          {says: noState, calls: byConfig},
		"nothing has run there":         {says: noState, usual: true, calls: byConfig + byState},
		"a configuration with mistakes": {says: unread, usual: true, calls: byConfig + byState, told: "CONFIG cannot be used"},
		"no configuration":              {usual: true, calls: byState},
	} {
		for script, argument := range map[string]string{"deb/prerm": "remove", "rpm/preun": "0"} {
			t.Run(script+" "+name, func(t *testing.T) {
				r := newRemoval(t)
				if c.says != "" {
					r.put("watcher.yaml", "version: 1\n", 0o600)
				}
				exit := "0"
				if strings.Contains(c.says, "error") {
					exit = "1"
				}
				r.put("bin/watcher", "#!/bin/sh\necho \"$@\" >>"+r.dir+"/calls\n"+
					"case $* in *--state*) echo '"+purgedUsual+"' ;; *) echo '"+c.says+"'; exit "+exit+" ;; esac\n", 0o755)
				if c.usual {
					r.put("usual/journal.db", "", 0o600)
				}
				said := r.script(script, argument)
				calls, _ := os.ReadFile(r.dir + "/calls") // none is none
				if want := r.names.Replace(c.calls); string(calls) != want {
					t.Errorf("the watcher was told %q, want %q", calls, want)
				}
				if !strings.Contains(said, r.names.Replace(c.told)) || c.told == "" && said != "" {
					t.Errorf("it says %q", said)
				}
			})
		}
	}
}

// TestAPurgeNamesStateThatStays: the configuration is gone by then, and it may be weeks later. What the operator has removed is not named.
func TestAPurgeNamesStateThatStays(t *testing.T) {
	r := newRemoval(t)
	r.put("watcher.yaml", "version: 1\n", 0o600)
	r.put("bin/watcher", "#!/bin/sh\necho '{\"gateway\":\"THEIRS\",\"purged\":\"i\",\"state\":\"OTHER\"}'\n", 0o755)
	r.put("other place/journal.db", "", 0o600)
	r.script("deb/prerm", "remove")
	for _, gone := range []string{"watcher.yaml", "bin/watcher"} {
		if err := os.Remove(filepath.Join(r.dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	said := r.script("deb/postrm", "purge")
	if !strings.Contains(said, r.names.Replace("OTHER stays")) || strings.Contains(said, r.names.Replace("THEIRS")) {
		t.Errorf("it says %q", said)
	}
	if r.has("USUAL") || !r.has("OTHER/journal.db") {
		t.Error("it leaves what is the package's, or removes what is not")
	}
	if said := r.script("deb/postrm", "purge"); said != "" {
		t.Errorf("a second purge says %q", said)
	}
}
