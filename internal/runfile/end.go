package runfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// MarkedRelease is the other word that releases init, instead of Release. A token of TokenSize bytes follows it, and
// then the agent's input. When the agent has ended and nothing but init is left in the sandbox, init writes an EndMark
// as the last thing on standard output and on standard error. The agent does not know the token, so it cannot write a
// mark.
const MarkedRelease = "torno 2 marked:\n"

// TokenSize is the length of a token in bytes: the length that crypto/rand.Text returns.
const TokenSize = 26

// End says how a sandbox ended, as init reports it: the exit code of init itself, whether the kernel has killed a
// process in init's control group for memory, and the time of the end, because the host may look much later.
type End struct {
	Code   int
	Memory Memory
	Up     time.Duration // the time of the end, since the machine started (package boot); 0 in the mark of an older init
}

// Memory says whether the kernel has killed a process because of the memory limit.
type Memory byte

// These are the answers that init may have found in its control group.
const (
	MemoryHeld    Memory = '0'
	MemoryKilled  Memory = '1'
	MemoryUnknown Memory = '?'
)

// EndMark returns the last bytes that init writes on both streams. Nothing follows them.
func EndMark(token string, end End) []byte {
	return fmt.Appendf(nil, "%s%s %03d %c %019d\n", marks[0].begins, token, end.Code, end.Memory, end.Up)
}

// An Ending recognises two marks: the one that init writes today, and the one without a time that older inits wrote. It
// does not need the newline, because a log may have lost it.
var marks = [...]struct {
	begins string
	size   int
}{
	{"\x00torno-init 2 ended ", beginsSize + TokenSize + len(" 000 0 ") + upSize},
	{"\x00torno-init 1 ended ", beginsSize + TokenSize + len(" 000 0")},
}

const (
	beginsSize = len("\x00torno-init 2 ended ")
	upSize     = 19
)

// DigestOf returns a digest that tells a token from others without revealing it.
func DigestOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Ending passes a stream on up to its end mark. It recognises the mark by the digest of the token. The zero value knows
// no mark.
type Ending struct {
	Digest string
	held   []byte // the end of the stream so far, if it may be the beginning of a mark
	ended  bool
	end    End
}

// Take returns the bytes of the stream that can be passed on. They may include bytes that an earlier Take held back.
// After the mark it returns nothing.
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
		at := bytes.IndexByte(data[from:], 0)
		if at < 0 {
			return data
		}
		from += at
		for _, mark := range marks {
			rest := data[from:]
			switch {
			case len(rest) >= mark.size && e.isMark(rest[:mark.size], mark.begins):
				e.ended = true
				return data[:from]
			case len(rest) < mark.size && bytes.HasPrefix([]byte(mark.begins), rest[:min(len(rest), beginsSize)]):
				e.held = bytes.Clone(rest)
				return data[:from]
			}
		}
	}
}

func (e *Ending) isMark(mark []byte, begins string) bool {
	rest, ok := bytes.CutPrefix(mark, []byte(begins))
	if !ok || DigestOf(string(rest[:TokenSize])) != e.Digest {
		return false
	}
	code, err := strconv.ParseUint(string(rest[TokenSize+1:TokenSize+4]), 10, 8)
	e.end = End{Code: int(code), Memory: Memory(rest[TokenSize+5])}
	if up := rest[TokenSize+len(" 000 0"):]; len(up) > 0 && err == nil {
		var n uint64
		n, err = strconv.ParseUint(string(up[1:]), 10, 63)
		e.end.Up = time.Duration(n)
	}
	return err == nil
}

// Rest returns the bytes that were held back, if the stream has ended without a mark.
func (e *Ending) Rest() []byte {
	rest := e.held
	e.held = nil
	return rest
}

// Held returns how many bytes are held back.
func (e *Ending) Held() int { return len(e.held) }

// Ended returns the end that the mark reports. ended is true once the mark was seen.
func (e *Ending) Ended() (end End, ended bool) { return e.end, e.ended }
