package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"torno/sandbox"
)

func lookAtRunning(s System) []Finding {
	r := s.Running
	if r == nil {
		return []Finding{{Verdict: OK, Seen: "none runs with this state directory", Means: "no running watcher differs from this report"}}
	}
	var found []Finding
	if r.Version != r.Ours {
		found = append(found, Finding{
			Verdict: Warn, Seen: fmt.Sprintf("process %d is of version %s, and this program of %s", r.PID, r.Version, r.Ours),
			Means: "a package was installed over it: it still uses the programs that it started with, so this report may be wrong for it",
			Do:    "systemctl restart torno-watcher, or stop it and start it again; with `shutdown: {running: keep}` in the configuration children keep running",
		})
	}
	if r.Hidden && s.lacks(sandbox.MountsByHandle) {
		found = append(found, Finding{
			Verdict: Warn, Seen: fmt.Sprintf("process %d has a mount namespace of its own", r.PID),
			Means: "the engine never sees the watcher's mounts, so workspaces are mounted by path and children share the uid of their workspace's owner",
			Do:    "take out of its unit " + or(strings.Join(r.Lines, "; "), "ProtectSystem, ProtectHome, PrivateTmp, PrivateDevices, ReadWritePaths and the like (systemctl cat torno-watcher)") + "; then systemctl daemon-reload and restart",
		})
	}
	if len(found) == 0 {
		found = []Finding{{Verdict: OK, Seen: fmt.Sprintf("process %d, version %s", r.PID, r.Version), Means: "it is of this program's version, and nothing hides its mounts"}}
	}
	return found
}

// lacks reports whether at least one launcher does not enforce a guarantee.
func (s System) lacks(key sandbox.GuaranteeKey) bool {
	return slices.ContainsFunc(s.launchers(), func(name string) bool { return !s.Guarantees[name][key].Enforced })
}

// hiding lists the settings of a unit that give its service a mount namespace of its own.
var hiding = []string{
	"ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "PrivateMounts", "PrivateUsers", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups",
	"ProtectProc", "ProcSubset", "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "BindPaths", "BindReadOnlyPaths",
	"TemporaryFileSystem", "MountAPIVFS", "MountFlags", "RootDirectory", "RootImage", "DynamicUser", "ProtectHostname",
}

// unitPlaces are the directories where systemd looks for units, relative to the machine's root.
var unitPlaces = []string{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

// LookAtRunning fills in Hidden and Lines of a running watcher, from its process. machine is this machine's root
// directory. namespace returns the mount namespace of a process.
func LookAtRunning(r *Running, machine fs.FS, namespace func(pid int) (string, error)) {
	own, err := namespace(r.PID)
	if err != nil {
		return
	}
	first, err := namespace(1)
	if err != nil {
		first, err = namespace(os.Getpid()) // an operator's shell has the same mount namespace as process 1
	}
	if err != nil || own == first {
		return
	}
	groups, err := fs.ReadFile(machine, fmt.Sprintf("proc/%d/cgroup", r.PID))
	if err != nil {
		return
	}
	unit := unitOf(string(groups))
	r.Hidden = unit != "" // a container has mounts of its own, too, and other findings tell about that
	r.Lines = hidingLines(machine, unit)
}

// unitOf returns the unit of the service that a process belongs to, or "".
func unitOf(groups string) string {
	for line := range strings.Lines(groups) {
		for name := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			if strings.HasSuffix(name, ".service") && !strings.HasPrefix(name, "user@") {
				return name
			}
		}
	}
	return ""
}

// hidingLines returns the lines of a unit and of its drop-ins that give it a mount namespace of its own.
func hidingLines(machine fs.FS, unit string) (lines []string) {
	if unit == "" {
		return nil
	}
	var files []string
	for _, place := range unitPlaces {
		drops, _ := fs.Glob(machine, path.Join(place, unit+".d", "*.conf")) // it cannot fail: the pattern is valid
		files = append(append(files, path.Join(place, unit)), drops...)
	}
	for _, file := range files {
		text, err := fs.ReadFile(machine, file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			setting, value, ok := strings.Cut(line, "=")
			if ok && slices.Contains(hiding, setting) && !slices.Contains([]string{"", "no", "false", "off", "0", "default"}, strings.ToLower(value)) {
				lines = append(lines, "/"+file+": "+line)
			}
		}
	}
	return lines
}
