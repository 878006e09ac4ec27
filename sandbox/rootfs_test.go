package sandbox

import "testing"

func TestPlacesOfRootFileSystems(t *testing.T) {
	for image, want := range map[string][2]string{
		"dir:/srv/root": {"dir", "/srv/root"}, "oci:/l": {"oci", "/l"}, "archive:/a.tar": {"archive", "/a.tar"}, "dir:/a:b": {"dir", "/a:b"},
		"": {}, "dir": {}, "dir:latest": {}, "dir:relative/x": {}, "tar:/srv/a": {}, "debian@sha256:0123": {}, "/srv/root": {}, "DIR:/x": {},
	} {
		form, path, ok := RootFS{Image: image}.Place()
		if form != want[0] || path != want[1] || ok != (want[0] != "") {
			t.Errorf("%q is %q at %q, %t", image, form, path, ok)
		}
	}
}
