package sandboxtest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"torno/internal/paths"
	"torno/internal/runfile"
	"torno/sandbox"
)

// resolve returns where a path of the child lies on the host. If several mounts fit, the last one is the innermost.
func (b *box) resolve(name string) (host string, writable bool, err error) {
	for _, m := range b.spec.Mounts {
		if paths.Within(m.Target, name) {
			host = filepath.Join(b.world.host(m.Source), strings.TrimPrefix(name, m.Target))
			writable = m.Workspace
		}
	}
	if host == "" {
		return "", false, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return host, writable, nil
}

// absolute returns a path of the child as an absolute path. It takes a relative path from dir.
func absolute(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// readFile reads a file of the child: a file of the run itself, or a file in a mount.
func (b *box) readFile(name string) ([]byte, error) {
	for _, file := range b.spec.Files {
		if name == path.Join(sandbox.RunDir, file.Name) {
			return file.Content, nil
		}
	}
	host, _, err := b.resolve(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(host)
}

// moveAnswerAside makes room for an answer. A file that is there already comes from an earlier run.
func (b *box) moveAnswerAside() error {
	if b.spec.Answer.Path == "" {
		return nil
	}
	host, _, err := b.resolve(b.spec.Answer.Path)
	if err != nil {
		return err
	}
	if err := os.Rename(host, host+runfile.PreviousSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// writeAnswer writes the agent's kept standard output as the answer, unless the agent wrote an answer itself. After a
// KILL no process is left to write it.
func (b *box) writeAnswer() error {
	if !b.spec.Answer.FromStdout || b.life.Err() != nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	host, _, err := b.resolve(b.spec.Answer.Path)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(host); err == nil && info.Mode().IsRegular() {
		return nil
	}
	text := b.answer.Bytes()
	if limit := b.spec.Answer.Max; int64(len(text)) > limit {
		if err := os.WriteFile(host+runfile.WholeSuffix, text, 0o640); err != nil {
			return err
		}
		text = text[:limit]
	}
	return os.WriteFile(host, text, 0o640)
}

// keepAnswer keeps the standard output for the answer.
func (b *box) keepAnswer(p []byte) {
	if !b.spec.Answer.FromStdout {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer.Write(p)
}
