//go:build linux

package adapter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"torno/internal/agent"
	"torno/internal/beneath"
	"torno/internal/massgen/remains"
)

// beside follows the files in which an agent reports its work, in addition to its output. The agent owns these files
// and may be hostile. So each file must be no link and no pipe, have only one name, and is read only up to a bound. The
// main goroutine owns beside.
type beside struct {
	m    *massgen
	tell func([]agent.Line)

	root  *os.Root // the working directory
	begun time.Time
	old   map[attempt]bool // attempts from before the agent began

	now    attempt
	seen   bool // an attempt was found, and now holds it
	events *os.File
	offset int64
	lines  splitter
	status os.FileInfo // file info of the status that was read last
	said   map[string]bool

	looked, scanned time.Time
	inbox           inbox
}

const (
	lookEvery = 25 * time.Millisecond  // between two looks at the events
	scanEvery = 250 * time.Millisecond // between two looks at everything else
	mostALook = 1 << 20                // bytes in one look, so that the agent's output gets its turn
	all       = int64(1) << 62         // no bound
)

// begin notes the attempts that exist before the agent begins.
func (b *beside) begin(tell func([]agent.Line), acknowledge func(agent.Input, error)) (err error) {
	if b.root, err = openRoot("."); err != nil {
		return err
	}
	b.tell, b.begun, b.old, b.said = tell, time.Now(), map[attempt]bool{}, map[string]bool{}
	for _, a := range attempts(b.root) {
		b.old[a] = true
	}
	b.lines = splitter{most: maxLine, tooLong: b.tooLong, whole: func(line []byte) { b.tell(readBy(b.m.event, line)) }}
	b.inbox = inbox{root: b.root, acknowledge: acknowledge}
	b.inbox.empty()
	return nil
}

func (b *beside) tooLong(length int64) {
	b.tell(notice(fmt.Sprintf("an event of %d bytes was left out: the limit is %d", length, maxLine)))
}

// once reports a fault of the files, but each text only one time.
func (b *beside) once(text string) {
	if !b.said[text] && len(b.said) < maxTroubles {
		b.said[text] = true
		b.tell(notice(text))
	}
}

// maxTroubles bounds how many faults of the files are reported.
const maxTroubles = 16

// look reads new reports, if it is time for that. It reports whether the agent has said anything new.
func (b *beside) look(now time.Time) (news bool) {
	if now.Sub(b.looked) < lookEvery {
		return false
	}
	b.looked = now
	news = b.read(mostALook)
	if now.Sub(b.scanned) >= scanEvery {
		b.scanned = now
		news = b.scan() || news
	}
	return news
}

// scan looks at the status, the session and the messages. It goes on to the next attempt, if there is one, and reports
// whether it did.
func (b *beside) scan() (news bool) {
	b.inbox.look()
	b.readSession()
	if b.seen {
		b.readStatus()
	}
	return b.advance()
}

// advance reports the rest of the current attempt and goes on to the next one. It does nothing and returns false if
// there is no next attempt.
func (b *beside) advance() bool {
	next, there := b.next()
	if !there {
		return false
	}
	b.read(all)
	b.leave()
	b.now, b.seen = next, true
	b.open()
	return true
}

// next returns the first attempt after the current one.
func (b *beside) next() (attempt, bool) {
	for _, a := range attempts(b.root) {
		if !b.old[a] && (!b.seen || b.now.before(a)) {
			return a, true
		}
	}
	return attempt{}, false
}

func (b *beside) leave() {
	b.lines.end()
	if b.events != nil {
		b.events.Close()
	}
	b.events, b.offset, b.status = nil, 0, nil
}

// open opens the events of the current attempt, if there are any yet, and reads them. It reports whether it read
// anything.
func (b *beside) open() bool {
	at := path.Join(b.now.dir(), eventsFile)
	file, _, err := beneath.OpenFile(b.root, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		b.once(fmt.Sprintf("its events cannot be read: %s: %v", at, err))
		return false
	}
	b.events = file
	return b.read(mostALook)
}

// read reads events, up to a bound, and reports whether it read anything.
func (b *beside) read(most int64) (news bool) {
	if b.events == nil {
		return b.seen && b.open()
	}
	info, err := b.events.Stat()
	if err != nil {
		b.once(fmt.Sprintf("its events cannot be read: %v", err))
		return false
	}
	if info.Size() < b.offset {
		b.once("its file of events became shorter; only events after that are reported")
		b.lines.drop()
		b.offset = info.Size()
	}
	buf := make([]byte, min(readSize, max(0, info.Size()-b.offset)))
	for end := min(info.Size(), b.offset+most); b.offset < end; {
		n, err := b.events.ReadAt(buf[:min(int64(len(buf)), end-b.offset)], b.offset)
		b.offset += int64(n)
		b.lines.add(buf[:n])
		news = news || n > 0
		if err != nil && !errors.Is(err, io.EOF) {
			b.once(fmt.Sprintf("its events cannot be read: %v", err))
		}
		if n == 0 {
			break
		}
	}
	return news
}

// readStatus reads the status again if it has changed.
func (b *beside) readStatus() {
	at := path.Join(b.now.dir(), "status.json")
	file, info, err := beneath.OpenFile(b.root, at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrMoved) { // the agent writes it anew each time
		return
	}
	if err != nil {
		b.once(fmt.Sprintf("its status cannot be read: %s: %v", at, err))
		return
	}
	defer file.Close()
	if b.status != nil && os.SameFile(b.status, info) && b.status.Size() == info.Size() && b.status.ModTime().Equal(info.ModTime()) {
		return
	}
	data, more, err := beneath.ReadUpTo(file, remains.MaxStatus)
	switch {
	case err != nil:
		b.once(fmt.Sprintf("its status cannot be read: %s: %v", at, err))
	case more:
		b.once(fmt.Sprintf("its status is not read: %s has more than %d bytes", at, remains.MaxStatus))
	default:
		if told, ok := b.m.status(data); ok { // a half-written file is read again when it changes
			b.tell(told)
		}
	}
	b.status = info
}

// maxNote is the longest file that contains only a name, in bytes.
const maxNote = 1 << 10

func (b *beside) readSession() {
	data, _, err := beneath.ReadFile(b.root, massgenSession, maxNote)
	if id := strings.TrimSpace(string(data)); err == nil && isSessionID(id) {
		b.m.session.id = id
	}
}

// mostAttempts bounds how many attempts beside follows after the agent's end: processes that the agent left behind may
// go on.
const mostAttempts = 64

// end reads everything that is there when the agent has ended, and no more.
func (b *beside) end() {
	b.scan()
	for range mostAttempts {
		if !b.advance() {
			break
		}
	}
	b.read(all)
	if b.seen {
		b.readStatus()
	}
	b.leave()
	b.inbox.end()
}
