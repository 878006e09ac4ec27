package gvisor_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheSentryHasNoRights: a child that broke out of its sandbox into the kernel would be the user nobody, without rights.
func TestTheSentryHasNoRights(t *testing.T) {
	y := newYard(t)
	sentry := sentryOf(t, y.box(y.sleeper().ID))
	rightless(t, sentry, 65534)
	if places := below(t, filepath.Join(sentry, "root")); len(places) != 3 { // etc, etc/localtime, proc
		t.Errorf("its root holds %q", places)
	}
}

// TestOrdinarySentry: it is the watcher's user, and that without any right.
func TestOrdinarySentry(t *testing.T) {
	h := asOrdinary(t)
	l, id, spec := h.trial(t.TempDir(), uint32(os.Geteuid()))
	spec.Process.Argv = []string{"/bin/sleep", "1000"}
	created, err := l.Create(t.Context(), id, spec)
	if err == nil {
		err = l.Start(t.Context(), created)
	}
	if err != nil {
		t.Fatal(err)
	}
	rightless(t, sentryOf(t, created.ID), os.Geteuid())
	if err := l.Remove(t.Context(), created); err != nil {
		t.Error(err)
	}
}

// rightless checks that every thread of a process is the user nobody, without rights.
func rightless(t *testing.T, process string, uid int) {
	t.Helper()
	threads, err := filepath.Glob(filepath.Join(process, "task", "*", "status"))
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	is := strings.TrimSpace(strings.Repeat(fmt.Sprint(uid, " "), 4))
	want := map[string]string{"Uid": is, "NoNewPrivs": "1", "Seccomp": "2"}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		want[set] = "0000000000000000"
	}
	for _, thread := range threads {
		if has := status(t, thread, want); !maps.Equal(has, want) {
			t.Errorf("%s: %v, want %v", thread, has, want)
		}
	}
}

// TestTheSentryHoldsNothingOfTheHosts looks at its descriptors: what is not its own or the gofer's gift is a way out.
func TestTheSentryHoldsNothingOfTheHosts(t *testing.T) {
	y := newYard(t)
	box := y.box(y.sleeper().ID)
	held, err := filepath.Glob(filepath.Join(sentryOf(t, box), "fd", "*"))
	if err != nil || len(held) < 10 {
		t.Fatalf("%q, %v", held, err)
	}
	// The gofer's files are below the sandbox's root, as it sees it. Two more are where the sentry may complain.
	fine := regexp.MustCompile(`^(socket|pipe):|^anon_inode:\[?(eventfd|eventpoll|seccomp|pidfd)|^/memfd:|^/dev/null$|^/root/(usr|bin|lib|lib64|etc|run)/|^` +
		regexp.QuoteMeta(box) + `/(panic|runsc)\.log$`)
	for _, one := range held {
		target, err := os.Readlink(one)
		if err != nil {
			continue // closed since
		}
		if info, err := os.Stat(one); !fine.MatchString(target) || err == nil && info.IsDir() {
			t.Errorf("it holds %s", target)
		}
		if strings.Contains(target, "pidfd") && !holds(t, one, "\nPid:\t-1\n") { // that of the helper that is gone
			t.Error("it holds a process")
		}
	}
}

// holds is whether the kernel says something of a descriptor.
func holds(t *testing.T, fd, words string) bool {
	t.Helper()
	info, err := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(info), words)
}

// sentryOf is where the kernel tells of the sentry whose command line has a box, or its name.
func sentryOf(t *testing.T, box string) string {
	t.Helper()
	for pid, program := range running(t, box) {
		if program == "runsc-sandbox" {
			return filepath.Join("/proc", fmt.Sprint(pid))
		}
	}
	t.Fatal("there is no sentry")
	return ""
}

// status are the fields of a thread's status that are asked for.
func status(t *testing.T, file string, asked map[string]string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if _, ok := asked[name]; ok {
			has[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	return has
}

// below is everything in a directory.
func below(t *testing.T, dir string) (places []string) {
	t.Helper()
	err := filepath.WalkDir(dir+"/", func(path string, _ os.DirEntry, err error) error {
		places = append(places, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return places[1:]
}

// TestTheSentrysFilterComesCompiled: otherwise each start would compile it, as gVisor says in its own log.
func TestTheSentrysFilterComesCompiled(t *testing.T) {
	y := newYard(t)
	h := y.create("/bin/true")
	logs := t.TempDir()
	order := filepath.Join(y.box(h.ID), "order.json")
	text, err := os.ReadFile(order)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"--platform=systrap"`), fmt.Appendf(nil, `"--platform=systrap","--debug","--debug-log=%s/"`, logs), 1)
	if err := os.WriteFile(order, text, 0o600); err != nil {
		t.Fatal(err)
	}
	y.begin(h)
	y.wait(h)
	told, err := filepath.Glob(filepath.Join(logs, "*.boot.txt"))
	if err != nil || len(told) != 1 {
		t.Fatalf("%q, %v", told, err)
	}
	if text, err = os.ReadFile(told[0]); err != nil || !bytes.Contains(text, []byte("Loaded precompiled seccomp instructions")) {
		t.Errorf("the sentry compiled its filter itself, %v", err)
	}
}
