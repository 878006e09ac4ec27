package doctor

import (
	"bufio"
	"compress/gzip"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Packages is what a distribution's package manager says of the programs that advisories are about.
type Packages struct {
	Manager   string // dpkg, rpm, apk, or "" where there is none that we know
	Installed []Package
}

// Package is one that is installed.
type Package struct {
	Name, Version string
	Mends         []string // the advisories that its changelog names
}

// packageNames are what distributions call the packages of a component.
var packageNames = map[string][]string{
	"engine": {"docker.io", "docker-ce", "moby-engine"},
	"runc":   {"runc", "runc-app"}, "crun": {"crun"},
}

// builder is who may have put fixes into a build.
type builder int

const (
	somebody builder = iota // who may have mended it under the same number
	upstream                // whose numbers say everything
	packager                // whose changelog we have
)

// origin is where a component comes from.
type origin struct {
	built  builder
	mended []string
}

func (o origin) mends(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(o.mended, id) })
}

// of finds out who has built a component. A commit that `git describe` has written is upstream's. A package counts if it
// has the component's number: a machine may have both, and the engine its own.
func (p Packages) of(c Component) origin {
	have, rest, _ := parseVersion(c.Version)
	if _, build, ok := parseVersion(c.Build); ok {
		rest = build
	}
	if describeTag.MatchString(rest) {
		return origin{built: upstream}
	}
	for _, name := range packageNames[c.Name] {
		for _, installed := range p.Installed {
			v, _, ok := parseVersion(installed.Version)
			if installed.Name == name && ok && v == have {
				return origin{built: packager, mended: installed.Mends}
			}
		}
	}
	if rest == "" && p.Manager == "" {
		return origin{built: upstream}
	}
	return origin{built: somebody}
}

// managers are known by their databases.
var managers = []struct{ path, name string }{
	{"var/lib/dpkg/status", "dpkg"}, {"var/lib/rpm", "rpm"}, {"usr/lib/sysimage/rpm", "rpm"}, {"lib/apk/db/installed", "apk"},
}

func lookAtPackages(root fs.FS) Packages {
	for _, m := range managers {
		if _, err := fs.Stat(root, m.path); err != nil {
			continue
		}
		p := Packages{Manager: m.name}
		if m.name == "dpkg" {
			p.Installed = debianPackages(root, m.path)
		}
		return p
	}
	return Packages{}
}

// debianPackages reads dpkg's status, whose paragraphs are separated by empty lines. It is long, and is not kept.
func debianPackages(root fs.FS, status string) (found []Package) {
	file, err := root.Open(status)
	if err != nil {
		return nil
	}
	defer file.Close()
	wanted := slices.Concat(slices.Collect(maps.Values(packageNames))...)
	var p Package
	var installed bool
	for text := range textLines(file) {
		key, value, _ := strings.Cut(text, ": ")
		switch key {
		case "":
			p, installed = Package{}, false
		case "Package":
			p.Name = value
		case "Status":
			installed = strings.HasSuffix(value, " installed")
		case "Version":
			if p.Version = value; installed && slices.Contains(wanted, p.Name) {
				p.Mends = mentioned(root, p.Name)
				found = append(found, p)
			}
		}
	}
	return found
}

// maxChangelog bounds what is read of a changelog, unpacked. The newest entries come first.
const maxChangelog = 4 << 20

var advisoryID = regexp.MustCompile(`CVE-\d{4}-\d{4,7}`)

// mentioned are the advisories in a package's changelog, which is that of the installed version.
func mentioned(root fs.FS, name string) (ids []string) {
	file, err := root.Open(path.Join("usr/share/doc", name, "changelog.Debian.gz"))
	if err != nil {
		return nil
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	for text := range textLines(io.LimitReader(unpacked, maxChangelog)) {
		ids = append(ids, advisoryID.FindAllString(text, -1)...)
	}
	return ids
}

// textLines goes over lines, and ends early at one that is too long to be one.
func textLines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if !yield(lines.Text()) {
				return
			}
		}
	}
}
