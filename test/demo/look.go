package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kinds are the kinds of things that are compared, in the order in which they are shown.
var kinds = []string{"containers", "volumes", "images", "mounts", "cgroups", "processes", "temporary files"}

// onEngine are the kinds that an engine has.
var onEngine = kinds[:3]

// sight is what was there at one moment: of each kind, every thing with all that is known of it in one text.
type sight map[string]map[string]bool

func look(ctx context.Context, e *engine) (sight, error) {
	s := sight{}
	for i, see := range []func(context.Context, *engine, func(string)) error{
		containers, volumes, images, mounts, cgroups, processes, temporaryFiles,
	} {
		if e == nil && slices.Contains(onEngine, kinds[i]) {
			continue
		}
		things := map[string]bool{}
		if err := see(ctx, e, func(thing string) { things[thing] = true }); err != nil {
			return nil, fmt.Errorf("look at the %s: %w", kinds[i], err)
		}
		s[kinds[i]] = things
	}
	return s, nil
}

func containers(ctx context.Context, e *engine, see func(string)) error {
	var all []struct {
		ID     string `json:"Id"`
		Names  []string
		Labels map[string]string
	}
	err := e.get(ctx, "/containers/json?all=1", &all)
	for _, c := range all {
		see(fmt.Sprintf("%s %.12s %s", strings.Join(c.Names, " "), c.ID, labels(c.Labels)))
	}
	return err
}

func volumes(ctx context.Context, e *engine, see func(string)) error {
	var all struct {
		Volumes []struct {
			Name   string
			Labels map[string]string
		}
	}
	err := e.get(ctx, "/volumes", &all)
	for _, v := range all.Volumes {
		see(v.Name + " " + labels(v.Labels))
	}
	return err
}

func images(ctx context.Context, e *engine, see func(string)) error {
	var all []struct {
		ID       string `json:"Id"`
		RepoTags []string
		Labels   map[string]string
	}
	err := e.get(ctx, "/images/json?all=1", &all)
	for _, i := range all {
		see(fmt.Sprintf("%s %s %s", i.ID, strings.Join(i.RepoTags, " "), labels(i.Labels)))
	}
	return err
}

// labels always have the same text, since a map is encoded in the order of its keys.
func labels(all map[string]string) string {
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(text)
}

// mounts are those of the demo's own mount namespace, which are the watcher's too.
func mounts(_ context.Context, _ *engine, see func(string)) error {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		place, source, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(place); len(fields) > 4 { // of what follows, propagation may change
			see(fmt.Sprintf("%s %s on %s (%s)", fields[0], fields[3], fields[4], source))
		}
	}
	return lines.Err()
}

func cgroups(_ context.Context, _ *engine, see func(string)) error {
	return filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			see(path)
		}
		return nil // what cannot be read just went away
	})
}

// processes are known by their command lines, which name our directory.
func processes(_ context.Context, _ *engine, see func(string)) error {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && len(line) > 0 { // others are the kernel's, or just went away
			see(filepath.Base(filepath.Dir(path)) + " " + strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return err
}

// temporaryFiles are looked at by name only. What the watcher itself makes there, it makes in a directory of the demo's.
func temporaryFiles(_ context.Context, _ *engine, see func(string)) error {
	for _, dir := range []string{os.TempDir(), "/dev/shm"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			see(filepath.Join(dir, entry.Name()))
		}
	}
	return nil
}

// left are the things that came since and carry one of our marks. On an engine of our own everything that came is ours;
// elsewhere others come and go meanwhile.
func left(before, after sight, kind string, marks []string, private bool) (found []string) {
	for thing := range after[kind] {
		ours := private && slices.Contains(onEngine, kind)
		ours = ours || slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(thing, mark) })
		if ours && !before[kind][thing] {
			found = append(found, thing)
		}
	}
	slices.Sort(found)
	return found
}
