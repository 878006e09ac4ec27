package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestARemovedPackageEndsTheSandboxesOfItsState, wherever that is: the scripts of both packages, with directories of the test's and a watcher that
// notes what it is told.
func TestARemovedPackageEndsTheSandboxesOfItsState(t *testing.T) {
	for script, argument := range map[string]string{"deb/prerm": "remove", "rpm/preun": "0"} {
		for name, c := range map[string]struct {
			config  string // the line of the state
			there   []string
			calls   string
			message string
		}{
			"the usual place":      {"state: USUAL\n", []string{"usual"}, "purge --yes --config CONFIG\n", ""},
			"no word of it":        {"", []string{"usual"}, "purge --yes --config CONFIG\n", ""},
			"another place":        {"state: \"OTHER\" # ours\n", []string{"other"}, "purge --yes --config CONFIG\n", "OTHER stays"},
			"an earlier one, too":  {"state: OTHER\n", []string{"other", "usual"}, "purge --yes --config CONFIG\npurge --yes --state USUAL\n", "OTHER stays"},
			"nothing has run here": {"state: USUAL\n", nil, "", ""},
		} {
			t.Run(script+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				put := func(path, text string, mode os.FileMode) {
					t.Helper()
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), mode); err != nil {
						t.Fatal(err)
					}
				}
				names := strings.NewReplacer("USUAL", dir+"/usual", "OTHER", dir+"/other", "CONFIG", dir+"/watcher.yaml")
				put(dir+"/bin/watcher", "#!/bin/sh\necho \"$@\" >>"+dir+"/calls\n", 0o755)
				put(dir+"/watcher.yaml", names.Replace("version: 1\n"+c.config), 0o600)
				for _, state := range c.there {
					put(filepath.Join(dir, state, "journal.db"), "", 0o600)
				}
				text, err := os.ReadFile(filepath.Join("../../contrib/package", script))
				if err != nil {
					t.Fatal(err)
				}
				here := strings.NewReplacer("/etc/torno/watcher.yaml", dir+"/watcher.yaml", "/var/lib/torno", dir+"/usual", "/run/systemd/system", dir+"/none").Replace(string(text))
				put(dir+"/script", here, 0o755)
				run := exec.Command(dir+"/script", argument)
				run.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"))
				said, err := run.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
				calls, _ := os.ReadFile(dir + "/calls") // none is none
				if want := names.Replace(c.calls); string(calls) != want {
					t.Errorf("the watcher was told %q, want %q", calls, want)
				}
				if script == "deb/prerm" && !strings.Contains(string(said), names.Replace(c.message)) || c.message == "" && len(said) > 0 {
					t.Errorf("it says %q", said)
				}
			})
		}
	}
}
