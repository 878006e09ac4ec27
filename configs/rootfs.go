package configs

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"torno/internal/paths"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// root is the value of the key rootfs: the word host, or a path with its form. The key image names an image instead.
type root struct{ to *sandbox.RootFS }

const rootForms = "host, dir:/PATH, oci:/PATH or archive:/PATH"

func (v root) read(r *report, key string, n *yaml.Node) {
	s, ok := textOf(r, key, n)
	if !ok {
		return
	}
	if s == "host" {
		v.to.Host = true
		return
	}
	given := sandbox.RootFS{Image: s}
	switch _, path, ok := given.Place(); {
	case !ok:
		r.problem(key, "%s is not allowed; write %s, or name an image with the key image", kindOf(n), rootForms)
	case !isTidy(path) || path == "/":
		r.problem(key, "%q is not an absolute path of a root file system", path)
	case v.to.Image != "":
		r.problem(key, "there is image: %s too; a sandbox has one root file system", v.to.Image)
	default:
		v.to.Image = s
	}
}

func (v root) write() *yaml.Node {
	_, _, placed := v.to.Place()
	switch {
	case v.to.Host:
		return plainNode("host")
	case placed:
		return argumentNode(v.to.Image)
	}
	return nil
}

// image is the value of the key image: the name of an image that serves as root file system.
type image struct{ to *sandbox.RootFS }

func (v image) read(r *report, key string, n *yaml.Node) {
	var name string
	text{&name, 255}.read(r, key, n)
	switch _, _, placed := (sandbox.RootFS{Image: name}).Place(); {
	case placed:
		r.problem(key, "%q is not the name of an image; write rootfs: %s", name, name)
	case v.to.Image != "":
		r.problem(key, "there is rootfs: %s too; a sandbox has one root file system", v.to.Image)
	default:
		v.to.Image = name
	}
}

func (v image) write() *yaml.Node {
	if _, _, placed := v.to.Place(); placed {
		return nil
	}
	return textNode(v.to.Image)
}

// imageForm is looser than the engine's own grammar, but it lets nothing pass that the engine could read as an option.
var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)

func (c *Config) checkRootFS(r *report, key string, p *compile.Profile) {
	fs := p.RootFS
	_, _, placed := fs.Place()
	at := key + ".image"
	if placed {
		at = key + ".rootfs"
	}
	switch {
	case fs.Host && fs.Image != "":
		r.problem(at, "there is rootfs: host too; a sandbox has one root file system")
	case !fs.Host && !placed && !imageForm.MatchString(fs.Image):
		r.problem(at, "%q is not the name of an image", fs.Image)
	case fs.Pull && (fs.Host || placed):
		r.problem(key+".pull", "there is no image to pull")
	case c.Unsuited(p.Sandbox, fs) != "":
		r.problem(at, "%s", c.Unsuited(p.Sandbox, fs))
	case fs.Pull && !fs.Pinned():
		r.warn(at, "%s may be another image tomorrow; NAME@sha256:DIGEST stays the same", fs.Image)
	}
}

// checkPlaces reports a root file system in a place that requests reach.
func (c *Config) checkPlaces(r *report, p *compile.Profile) {
	_, path, placed := p.RootFS.Place()
	if !placed {
		return
	}
	at := "profiles." + p.Name + ".rootfs"
	for _, o := range c.Outboxes {
		if why := o.reaches(path); why != "" {
			r.problem(at, "%s lies in %s, where a parent can replace it", path, why)
			continue
		}
		for _, root := range slices.Concat([]string{o.Dir}, o.Allow, o.Read) {
			if paths.Nested(root, path) {
				r.problem(at, "%s is, holds or lies in %s, which requests of outbox %s reach; move it out of there", path, root, o.Name)
				break
			}
		}
	}
}
