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

	"torno/internal/beneath"
)

const (
	minToken = 32   // characters
	maxToken = 1000 // bytes of its file
)

// NewToken makes a token, and returns it as text: it is shown once, and kept nowhere.
func NewToken() (Token, string) {
	text := rand.Text() + rand.Text()
	return Token{sha256.Sum256([]byte(text))}, text
}

// ReadToken reads a token from a file of our own user's that no other may read. Where there is no file it makes one, and says so. A token is never
// taken from the environment: each program that an agent starts has that.
func ReadToken(path string) (token Token, made bool, err error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return token, false, fmt.Errorf("token file %s: %w", path, err)
	}
	defer dir.Close()
	name := filepath.Base(path)
	text, err := readToken(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeToken(dir, name)
		made = true
	}
	if err != nil {
		return token, false, fmt.Errorf("token file %s: %w", path, err)
	}
	return Token{sha256.Sum256([]byte(text))}, made, nil
}

func readToken(dir *os.Root, name string) (string, error) {
	file, seen, err := beneath.OpenFile(dir, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if owner, ok := seen.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return "", errors.New("it is another user's, who would be the parent too; next: chown it to the user that the server runs as")
	}
	if open := seen.Mode().Perm() & 0o077; open != 0 {
		return "", fmt.Errorf("others than its owner have rights to it (mode %#o); next: chmod 600", seen.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if len(text) < minToken || len(data) > maxToken || strings.ContainsAny(text, " \t\r\n") {
		return "", fmt.Errorf("it does not hold one word of %d to %d characters; next: remove it, and it is made anew", minToken, maxToken)
	}
	return text, nil
}

func makeToken(dir *os.Root, name string) (string, error) {
	_, text := NewToken()
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(file, text+"\n")
	return text, errors.Join(err, file.Close())
}
