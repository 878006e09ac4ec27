package runfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// MarkedRelease is the other word for which init waits, in Release's place. A token follows it, of TokenSize bytes, and then the agent's
// input. When the agent has ended and nothing but init is left in the sandbox, init says so with an EndMark, as the last thing on
// standard output and on standard error. The agent does not know the token and can say none.
const MarkedRelease = "torno 2 marked:\n"

// TokenSize is how long a token is: what crypto/rand.Text returns.
const TokenSize = 26

// End is how a sandbox ended, as init says it: the code with which it ends itself, and whether the kernel has killed for memory in its
// control group.
type End struct {
	Code   int
	Memory Memory
}

// Memory is what is known of the memory's limit.
type Memory byte

// What init may have seen in its control group.
const (
	MemoryHeld    Memory = '0'
	MemoryKilled  Memory = '1'
	MemoryUnknown Memory = '?'
)

// EndMark is the last thing that init says on both streams: nothing follows it.
func EndMark(token string, end End) []byte {
	return fmt.Appendf(nil, "%s%s %03d %c\n", endBegins, token, end.Code, end.Memory)
}

// The end of the mark's line does not belong to what it is known by: a log may have lost it.
const (
	endBegins = "\x00torno-init 1 ended "
	endSize   = len(endBegins) + TokenSize + len(" 000 0")
)

// DigestOf tells a token from others without being one.
func DigestOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Ending takes a stream to its end mark, which it recognises by the digest of its token. The zero value knows none.
type Ending struct {
	Digest string
	held   []byte // the end of what was taken, where it may be the beginning of a mark
	ended  bool
	end    End
}

// Take returns what of the stream can be passed on, which may be a part of what was taken before. Behind the mark there is nothing.
func (e *Ending) Take(data []byte) []byte {
	if e.Digest == "" {
		return data
	}
	if e.ended {
		return nil
	}
	if len(e.held) > 0 {
		data = append(e.held, data...)
		e.held = nil
	}
	for from := 0; ; from++ {
		at := bytes.IndexByte(data[from:], endBegins[0])
		if at < 0 {
			return data
		}
		from += at
		rest := data[from:]
		switch {
		case len(rest) >= endSize && e.isMark(rest[:endSize]):
			e.ended = true
			return data[:from]
		case len(rest) < endSize && bytes.HasPrefix([]byte(endBegins), rest[:min(len(rest), len(endBegins))]):
			e.held = bytes.Clone(rest)
			return data[:from]
		}
	}
}

func (e *Ending) isMark(mark []byte) bool {
	rest, ok := bytes.CutPrefix(mark, []byte(endBegins))
	if !ok || DigestOf(string(rest[:TokenSize])) != e.Digest {
		return false
	}
	code, err := strconv.ParseUint(string(rest[TokenSize+1:TokenSize+4]), 10, 8)
	e.end = End{int(code), Memory(rest[TokenSize+5])}
	return err == nil
}

// Rest is what was held back, when the stream has ended without a mark.
func (e *Ending) Rest() []byte {
	rest := e.held
	e.held = nil
	return rest
}

// Held is how much is held back.
func (e *Ending) Held() int { return len(e.held) }

// Ended is the end that the mark says, once it was seen.
func (e *Ending) Ended() (end End, ended bool) { return e.end, e.ended }
