package e2e

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"torno/test/house"
)

// exits is exit(0), and nothing else.
var exits = map[string]struct {
	machine elf.Machine
	code    []byte
}{
	"amd64": {elf.EM_X86_64, []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05}},                            // eax = 60; edi = 0
	"arm64": {elf.EM_AARCH64, []byte{0xa8, 0x0b, 0x80, 0xd2, 0x00, 0, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}, // x8 = 93; x0 = 0
}

// noopRoot is a root that holds one program, which does nothing.
func noopRoot(b testing.TB) string {
	b.Helper()
	const (
		at    = 0x10000
		begin = 64 + 56 // behind the two headers
	)
	exit := exits[runtime.GOARCH]
	size := uint64(begin + len(exit.code))
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(exit.machine), Version: uint32(elf.EV_CURRENT), Entry: at + begin,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	all := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: at, Filesz: size, Memsz: size, Align: 0x1000}
	var program bytes.Buffer
	err := errors.Join(binary.Write(&program, binary.LittleEndian, header), binary.Write(&program, binary.LittleEndian, all))
	program.Write(exit.code)
	root := b.TempDir()
	if err = errors.Join(err, os.WriteFile(filepath.Join(root, "noop"), program.Bytes(), 0o755)); err != nil {
		b.Fatal(err)
	}
	return root
}

// importNoop makes an image of a root.
func importNoop(b testing.TB, e house.Engine, root string) string {
	b.Helper()
	return importRoot(b, e, root, "torno-bench-noop", `CMD ["/noop"]`)
}

// importRoot makes an image of a root, which is gone after the test.
func importRoot(t testing.TB, e house.Engine, root, name string, changes ...string) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.AddFS(os.DirFS(root)), w.Close()); err != nil {
		t.Fatal(err)
	}
	query := url.Values{"fromSrc": {"-"}, "repo": {name}, "tag": {"latest"}, "changes": changes}
	response, err := e.HTTP.Post("http://engine/v1.41/images/create?"+query.Encode(), "application/x-tar", &archive)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal("import an image:", response.Status)
	}
	t.Cleanup(func() { forget(t, e, name+":latest") })
	return name + ":latest"
}

func forget(t testing.TB, e house.Engine, image string) {
	request, err := http.NewRequest(http.MethodDelete, "http://engine/v1.41/images/"+image+"?force=1", nil)
	if err != nil {
		t.Error(err)
		return
	}
	if response, err := e.HTTP.Do(request); err == nil {
		response.Body.Close()
	}
}
