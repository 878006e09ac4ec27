package images

import (
	"path"
	"strings"
	"testing"
)

var aDigest = "sha256:" + strings.Repeat("0a", 32)

var goodRefs = map[string]struct {
	kind   kind
	pinned bool
}{
	"dir:/":                         {fromDir, true},
	"dir:/srv/a:b@c":                {fromDir, true},
	"oci:/srv/x":                    {fromLayout, true},
	"oci:/srv/x:1.0":                {fromLayout, true},
	"oci:/srv:y/x@" + aDigest:       {fromLayout, true},
	"archive:/srv/x.tar":            {fromArchive, true},
	"alpine@" + aDigest:             {fromRegistry, true},
	"alpine:3.20@" + aDigest:        {fromRegistry, true},
	"localhost:5000/a/b@" + aDigest: {fromRegistry, true},
	"[::1]:5000/a":                  {fromRegistry, false},
	"alpine":                        {fromRegistry, false},
	"ghcr.io/a/b:1":                 {fromRegistry, false},
}

var badRefs = []string{
	"", "dir:", "dir:x", "dir:/a/", "dir:/a/../b", "dir://a", "oci:x", "oci:/x:", "oci:/x@", "oci:/x@sha256:1", "oci:/x/", "archive:",
	"archive:/x/./y", "Alpine", "a b", "a\nb", "dir:/a\x00b", "alpine@", "alpine@sha512:" + strings.Repeat("0", 128),
	"alpine@" + strings.ToUpper(aDigest), "alpine@" + aDigest + "@" + aDigest, "docker://alpine", "http://a/b", "-x", "a/../b",
	strings.Repeat("a", maxRef+1), "\xff",
}

func TestParse(t *testing.T) {
	for text, want := range goodRefs {
		ref, err := Parse(text)
		if err != nil || ref.kind != want.kind || ref.Pinned() != want.pinned || ref.String() != text {
			t.Errorf("%s is %+v (%v)", text, ref, err)
		}
	}
	for _, text := range badRefs {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("%q is taken", text)
			continue
		}
		wants(t, err, BadReference)
		if len(err.Error()) > 500 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	for text := range goodRefs {
		f.Add(text)
	}
	for _, text := range badRefs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := Parse(text)
		if err != nil {
			if ref != (Ref{}) {
				t.Errorf("%q is wrong, and yet %+v", text, ref)
			}
			return
		}
		if ref.String() != text || strings.ContainsAny(text, "\n\x00\x1b") {
			t.Errorf("%q is %+v", text, ref)
		}
		if local := ref.kind != fromRegistry; local != path.IsAbs(ref.path) || local && path.Clean(ref.path) != ref.path {
			t.Errorf("%q has the path %q", text, ref.path)
		}
		if ref.digest.Hex != "" && (len(ref.digest.Hex) != 64 || strings.Trim(ref.digest.Hex, "0123456789abcdef") != "") {
			t.Errorf("%q has the digest %q", text, ref.digest)
		}
		if registry := ref.repo.RegistryStr(); ref.kind == fromRegistry && strings.ContainsAny(registry+ref.repo.RepositoryStr(), "?#@ %") {
			t.Errorf("%q becomes part of another URL", text)
		}
	})
}
