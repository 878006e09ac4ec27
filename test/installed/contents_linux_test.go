package installed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"torno/test/attack"
)

// dists are the packages for a processor: by the names that each kind has for it, and as its programs say it.
var dists = []struct {
	arch, rpm string
	machine   elf.Machine
}{{"amd64", "x86_64", elf.EM_X86_64}, {"arm64", "aarch64", elf.EM_AARCH64}}

// TestWhatIsInThePackages opens all of both processors: what is installed, with which rights, whose it is, and what is run. gVisor's runsc
// for the other processor takes minutes to compile, so a program of ours for it is handed over in its place, as a build from elsewhere.
func TestWhatIsInThePackages(t *testing.T) {
	need(t)
	if _, err := exec.LookPath("rpm2archive"); err != nil {
		t.Fatal("a package for Red Hat cannot be opened: scripts/need rpm")
	}
	to, elsewhere := t.TempDir(), t.TempDir()
	for _, d := range dists {
		if d.arch != runtime.GOARCH {
			compile := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(elsewhere, "linux-"+d.arch, "runsc"), "./cmd/sandbox-init")
			compile.Dir, compile.Env = attack.Root(), append(os.Environ(), "GOOS=linux", "GOARCH="+d.arch, "CGO_ENABLED=0")
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	t.Setenv("RUNSC_DIR", elsewhere)
	distFor(t, attack.Root(), to, "v0.0.1", "linux/amd64", "linux/arm64")
	for _, d := range dists {
		t.Run(d.arch, func(t *testing.T) {
			base := filepath.Join(to, "torno_0.0.1_")
			deb, rpm := base+d.arch+".deb", base+d.arch+".rpm"
			kinds := map[string]content{
				"archive": unpacked(t, read(t, base+"linux_"+d.arch+".tar.gz")),
				"deb":     unpacked(t, output(t, "dpkg-deb", "--fsys-tarfile", deb)),
				"rpm":     unpacked(t, output(t, "sh", "-c", `rpm2archive - <"$1"`, "sh", rpm)),
			}
			for kind, c := range kinds {
				c.judge(t, kind, d.machine)
				if files := c.files(); !slices.Equal(files, kinds["archive"].files()) {
					t.Errorf("the %s has\n%v\nand the archive\n%v", kind, files, kinds["archive"].files())
				}
			}
			if says := output(t, "dpkg-deb", "--field", deb, "Package", "Architecture", "Version"); string(says) != "Package: torno\nArchitecture: "+d.arch+"\nVersion: 0.0.1\n" {
				t.Errorf("the .deb says\n%s", says)
			}
			if says := output(t, "rpm", "-qp", "--nosignature", "--qf", "%{NAME} %{ARCH} %{VERSION}", rpm); string(says) != "torno "+d.rpm+" 0.0.1" {
				t.Errorf("the .rpm says %s", says)
			}
			configuration(t, deb, rpm)
			scripts(t, deb, rpm)
		})
	}
}

// entry is a file of a package.
type entry struct {
	*tar.Header
	text []byte
}

type content map[string]entry

// unpacked reads a tar, which may be packed.
func unpacked(t *testing.T, data []byte) content {
	t.Helper()
	var from io.Reader = bytes.NewReader(data)
	if unzip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		from = unzip
	}
	all := content{}
	for archive := tar.NewReader(from); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean("/" + head.Name)
		if _, twice := all[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		all[name] = entry{head, text}
	}
}

// files are all that are no directories, with their rights, and where links lead.
func (c content) files() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		switch e := c[name]; e.Typeflag {
		case tar.TypeDir:
		case tar.TypeSymlink: // which has no rights of its own, whatever a package notes
			all = append(all, name+" -> "+e.Linkname)
		default:
			all = append(all, fmt.Sprintf("%s %o", name, e.Mode&0o7777))
		}
	}
	return all
}

// judge holds each file to what a package may bring.
func (c content) judge(t *testing.T, kind string, machine elf.Machine) {
	t.Helper()
	programs := 0
	for name, e := range c {
		if e.Uid != 0 || e.Gid != 0 {
			t.Errorf("%s: %s is of %d:%d", kind, name, e.Uid, e.Gid)
		}
		rights := e.Mode & 0o7777
		switch {
		case e.Typeflag == tar.TypeDir && rights == 0o755, e.Typeflag == tar.TypeSymlink:
		case e.Typeflag != tar.TypeReg:
			t.Errorf("%s: %s is of the kind %q, with %o", kind, name, e.Typeflag, rights)
		case bytes.HasPrefix(e.text, []byte(elf.ELFMAG)):
			programs++
			static(t, kind+": "+name, e.text, machine)
			if rights != 0o755 {
				t.Errorf("%s: the program %s has %o", kind, name, rights)
			}
		case name == "/etc/torno/watcher.yaml" && rights == 0o600, rights == 0o644:
		default:
			t.Errorf("%s: %s has %o", kind, name, rights)
		}
	}
	if programs != 6 {
		t.Errorf("%s: there are %d programs, want watcher, subagent, model-gateway, sandbox-init, sandbox-keeper and runsc", kind, programs)
	}
	for _, name := range []string{
		"/usr/lib/systemd/system/torno-watcher.service", "/usr/lib/systemd/system/torno-gateway.service", "/usr/lib/systemd/user/torno-watcher.service",
		"/usr/share/man/man1/watcher.1.gz", "/usr/share/bash-completion/completions/watcher", "/usr/share/doc/torno/examples/full.yaml", "/etc/torno/watcher.yaml", "/usr/bin/watcher", "/usr/bin/subagent",
	} {
		if _, ok := c[name]; !ok {
			t.Errorf("%s: there is no %s", kind, name)
		}
	}
}

// static makes sure that a program is for the processor and needs no library and no interpreter.
func static(t *testing.T, name string, text []byte, machine elf.Machine) {
	t.Helper()
	program, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if program.Machine != machine {
		t.Errorf("%s is for %v", name, program.Machine)
	}
	if libraries, _ := program.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("%s needs %v", name, libraries)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs an interpreter", name)
		}
	}
}

// configuration is the operator's: an upgrade replaces nothing of it.
func configuration(t *testing.T, deb, rpm string) {
	t.Helper()
	if says := string(unpacked(t, output(t, "dpkg-deb", "--ctrl-tarfile", deb))["/conffiles"].text); says != "/etc/torno/watcher.yaml\n" {
		t.Errorf("conffiles of the .deb are %q", says)
	}
	says := output(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILENAMES} %{FILEFLAGS:fflags} %{FILEUSERNAME}:%{FILEGROUPNAME}\n]`, rpm)
	for line := range strings.Lines(string(says)) {
		words := strings.Fields(line)
		if words[len(words)-1] != "root:root" || (words[0] == "/etc/torno/watcher.yaml") != (words[1] == "cn") {
			t.Errorf("of a file of the .rpm it says %q", line)
		}
	}
}

// scripts are those that lie in the sources, and no others.
func scripts(t *testing.T, deb, rpm string) {
	t.Helper()
	control := unpacked(t, output(t, "dpkg-deb", "--ctrl-tarfile", deb))
	for name, e := range control {
		switch name {
		case "/", "/control", "/conffiles", "/md5sums":
		case "/postinst", "/prerm", "/postrm":
			if want := read(t, filepath.Join(attack.Root(), "contrib/package/deb", name)); !bytes.Equal(e.text, want) || e.Mode&0o777 != 0o755 {
				t.Errorf("%s of the .deb has %o and is\n%s", name, e.Mode, e.text)
			}
		default:
			t.Errorf("the .deb has a %s for dpkg", name)
		}
	}
	has := ""
	for _, s := range []struct{ heading, file string }{{"postinstall", "post"}, {"preuninstall", "preun"}} {
		has += s.heading + " scriptlet (using /bin/sh):\n" + string(read(t, filepath.Join(attack.Root(), "contrib/package/rpm", s.file))) + "\n"
	}
	if says := string(output(t, "rpm", "-qp", "--nosignature", "--scripts", rpm)); strings.TrimSpace(says) != strings.TrimSpace(has) {
		t.Errorf("the .rpm runs\n%s\nwant\n%s", says, has)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func output(t *testing.T, words ...string) []byte {
	t.Helper()
	command := exec.Command(words[0], words[1:]...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, &complaints)
	}
	return out
}
