package images

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// kind tells where an image comes from.
type kind int

const (
	fromRegistry kind = iota
	fromDir
	fromLayout
	fromArchive
)

// Ref names an image. The zero Ref names no image.
type Ref struct {
	text   string
	kind   kind
	path   string // absolute and clean; empty for a registry
	repo   name.Repository
	tag    string
	digest v1.Hash // zero if the reference has no digest
	pull   bool
}

// String returns the reference as it was given.
func (r Ref) String() string { return r.text }

// Pinned reports whether the reference can only ever mean one image, or one place of the operator.
func (r Ref) Pinned() bool { return r.kind != fromRegistry || r.digest != v1.Hash{} }

// Pulling returns the same reference, with the operator's permission to follow its tag.
func (r Ref) Pulling() Ref {
	r.pull = true
	return r
}

const (
	maxRef  = 4096
	refHelp = "write name@sha256:…, dir:/path, oci:/path[:tag|@sha256:…] or archive:/path.tar"
)

func badRef(text, format string, args ...any) *Error {
	e := problem(BadReference, format, args...)
	e.Image, e.Next = quoted(text), refHelp
	return e
}

// Parse reads a reference. Paths must be absolute and clean, so that one image has one spelling.
func Parse(text string) (Ref, error) {
	switch {
	case text == "":
		return Ref{}, badRef(text, "the reference is empty")
	case len(text) > maxRef:
		return Ref{}, badRef(text, "the reference has %d bytes, more than %d", len(text), maxRef)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return Ref{}, badRef(text, "the reference has characters that cannot be printed")
	}
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "dir":
		return localRef(text, fromDir, rest)
	case "archive":
		return localRef(text, fromArchive, rest)
	case "oci":
		return layoutRef(text, rest)
	}
	return registryRef(text)
}

func localRef(text string, k kind, at string) (Ref, error) {
	switch {
	case !path.IsAbs(at):
		return Ref{}, badRef(text, "the path does not begin with /")
	case path.Clean(at) != at:
		return Ref{}, badRef(text, "the path is not clean; its shortest form is %q", path.Clean(at))
	}
	return Ref{text: text, kind: k, path: at}, nil
}

// layoutRef reads the text after "oci:". In the last part of the path a colon begins the tag, and an @ begins the
// digest.
func layoutRef(text, rest string) (Ref, error) {
	slash := strings.LastIndexByte(rest, '/') + 1
	at, last := rest[:slash], rest[slash:]
	digest, tag := "", ""
	if before, after, ok := strings.Cut(last, "@"); ok {
		last, digest = before, after
	} else if before, after, ok := strings.Cut(last, ":"); ok {
		last, tag = before, after
	}
	ref, err := localRef(text, fromLayout, at+last)
	if err != nil {
		return Ref{}, err
	}
	if strings.HasSuffix(text, ":") || strings.HasSuffix(text, "@") {
		return Ref{}, badRef(text, "the tag or digest is empty")
	}
	ref.tag = tag
	if digest == "" {
		return ref, nil
	}
	if ref.digest, err = parseDigest(text, digest); err != nil {
		return Ref{}, err
	}
	return ref, nil
}

// imageName matches the names of registries and images. The library accepts more than this, but the name becomes part
// of a URL.
var imageName = regexp.MustCompile(`^(?:(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?/)?` +
	`[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`)

func registryRef(text string) (Ref, error) {
	ref := Ref{text: text, kind: fromRegistry}
	before, digest, pinned := strings.Cut(text, "@")
	parsed, err := name.NewTag(before, name.WeakValidation)
	if err != nil || !imageName.MatchString(before) {
		return Ref{}, badRef(text, "not the name of an image")
	}
	ref.repo, ref.tag = parsed.Repository, parsed.TagStr()
	if pinned {
		ref.digest, err = parseDigest(text, digest)
	}
	if err != nil {
		return Ref{}, err
	}
	return ref, nil
}

func parseDigest(text, digest string) (v1.Hash, error) {
	hash, err := v1.NewHash(digest)
	if err != nil || hash.Algorithm != "sha256" || hash.String() != digest {
		return v1.Hash{}, badRef(text, "the digest is not sha256: and 64 characters of 0-9 and a-f")
	}
	return hash, nil
}
