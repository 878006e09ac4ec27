package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

const (
	minToken = 32   // characters
	maxToken = 1000 // bytes of its file
)

// NewToken makes a token, and returns it also as text. Each start of a server makes a new token, for this reason: a
// client that starts while no server listens may show its token to another program that has taken the port. That token
// then opens no later server.
func NewToken() (Token, string) {
	text := rand.Text() + rand.Text()
	return Token{sha256.Sum256([]byte(text))}, text
}

// WriteToken makes a token and writes it into a file that only our own user may read. Clients read it from there. It
// replaces the token of an earlier start, and refuses a file that contains anything else.
func WriteToken(path string) (Token, error) {
	token, text := NewToken()
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return token, fmt.Errorf("token file %s: %w", path, err)
	}
	defer dir.Close()
	name := filepath.Base(path)
	if err = checkToken(dir, name); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.WriteIn(dir, name, []byte(text+"\n"), atomicfile.Fast)
	}
	if err != nil {
		return token, fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// checkToken checks that a file contains a token.
func checkToken(dir *os.Root, name string) error {
	file, seen, err := beneath.OpenFile(dir, name)
	if err != nil {
		return err
	}
	defer file.Close()
	if owner, ok := seen.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user; next: name a file in a directory of the user that the server runs as")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(data))
	if len(text) < minToken || len(data) > maxToken || strings.ContainsAny(text, " \t\r\n") {
		return fmt.Errorf("it does not hold a token, which is one word of %d to %d characters; next: name another file, or remove this file", minToken, maxToken)
	}
	return nil
}
