package attest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"torno/sandbox"
)

// Program is a program that is known by its content. It is safe for concurrent use.
type Program struct {
	digest [sha256.Size]byte

	mu   sync.Mutex
	seen File // the file that had this content when it was last read
}

// KnownProgram returns the program with this content.
func KnownProgram(content []byte) *Program { return &Program{digest: sha256.Sum256(content)} }

// Check compares the program that a process executes. It reads the file once, and again only if the file was changed.
func (p *Program) Check(process *Process) error {
	found, content, err := process.Program()
	if err != nil {
		return err
	}
	defer content.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if found == p.seen {
		return nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return fmt.Errorf("read the program of process %d: %w", process.pid, err)
	}
	if got := [sha256.Size]byte(hash.Sum(nil)); got != p.digest {
		return &sandbox.DifferenceError{Differences: []sandbox.Difference{{
			What: "the program of process 1", Want: fmt.Sprintf("%x", p.digest[:8]), Got: fmt.Sprintf("%x", got[:8]),
		}}}
	}
	p.seen = found
	return nil
}
