package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"

	"torno/sandbox/local/hostroot"
)

func TestEmptyImage(t *testing.T) {
	layout := hostroot.Layout{Links: map[string]string{"bin": "usr/bin"}, Dirs: []string{"lib"}}
	content, err := emptyTar(layout)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := emptyTar(layout); !bytes.Equal(content, again) {
		t.Error("the same image has two contents, so that every start would import another")
	}
	seen := map[string]int64{}
	for reader := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeDir && header.Typeflag != tar.TypeSymlink {
			t.Errorf("%s is neither a directory nor a link", header.Name)
		}
		seen[header.Name] = header.Mode
	}
	if seen["tmp/"] != 0o1777 || seen["usr/"] != 0o755 || seen["bin"] == 0 || seen["lib/"] == 0 || seen["var/"] != 0 {
		t.Errorf("the image has %v", seen)
	}
}
