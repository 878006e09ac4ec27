package watcher

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"torno/delegation"
)

// notices are what keeps the watcher from its work at the moment: what watcher.json and an operator's status say. Who is
// held up says so and takes it back: a notice stands as long as anybody is.
//
// A parent reads them. So each text is a fixed one, without a path or another parent's name, and names at most subagents of the
// parent's own; what exactly failed goes into the log, once when it begins.
type notices struct {
	log     *slog.Logger
	changed func() // somebody may want to tell at once

	mu   sync.Mutex
	held map[trouble]time.Time // since when
}

// trouble is one holder of a notice.
type trouble struct {
	code   delegation.NoticeCode
	outbox string // whom it concerns; "" for everybody
	holder any    // who is held up

	subagent delegation.SubagentID // whose run that is, where the notice names it
}

// noticeTexts are the notices, the most important first.
var noticeTexts = []delegation.Notice{
	{Code: delegation.NoticeEngine, Text: "The engine does not answer, or is very slow; what is asked of it waits and is asked again."},
	{Code: delegation.NoticeSandbox, Text: "A sandbox does not end or cannot be removed; its run keeps its place and its workspace until no process of it is left."},
	{Code: delegation.NoticeLeftovers, Text: "Sandboxes that have ended cannot be removed, which is tried again; their runs do not wait for it."},
	{Code: delegation.NoticeStranded, Text: "Runs are stranded: another engine answers in the place of theirs, which has their sandboxes; they wait for it."},
	{Code: delegation.NoticeJournal, Text: "The journal cannot be written; nothing new is started, and what has ended is answered later."},
	{Code: delegation.NoticeDisk, Text: "There is too little free space; what needs some is refused, ended or waits."},
	{Code: delegation.NoticeDescriptors, Text: "The watcher has too many files open; what needs one more waits."},
	{Code: delegation.NoticeReload, Text: "A new configuration waits for an engine that does not answer; until then the old one is served."},
	{Code: delegation.NoticeOutbox, Text: "The outbox cannot be listed, or does not take every file; what is due is written later."},
}

func newNotices(log *slog.Logger) *notices {
	return &notices{log: log, changed: func() {}, held: make(map[trouble]time.Time)}
}

// begin notes that somebody is held up. Saying it again changes nothing. Without an error, somebody else has said it to the
// operator.
func (n *notices) begin(t trouble, why error) {
	n.mu.Lock()
	_, known := n.held[t]
	first := !known && len(n.holders(t)) == 0
	if !known {
		n.held[t] = time.Now()
	}
	n.mu.Unlock()
	if !first {
		return
	}
	if why != nil {
		n.log.Warn("held up", "by", t.code, "outbox", t.outbox, "error", why)
	}
	n.changed()
}

// end takes it back. It may be said of what never began.
func (n *notices) end(t trouble) {
	n.mu.Lock()
	since, known := n.held[t]
	delete(n.held, t)
	last := known && len(n.holders(t)) == 0
	n.mu.Unlock()
	if last {
		n.log.Info("not held up any more", "by", t.code, "outbox", t.outbox, "for", time.Since(since).Round(time.Millisecond))
		n.changed()
	}
}

// holders are when those began who are held up by the same. The lock is held.
func (n *notices) holders(t trouble) (since []time.Time) {
	for other, at := range n.held {
		if other.code == t.code && other.outbox == t.outbox {
			since = append(since, at)
		}
	}
	return since
}

// named are the subagents whose runs a notice is about. The lock is held.
func (n *notices) named(code delegation.NoticeCode, outbox string) (ids []string) {
	for t := range n.held {
		if t.code == code && t.outbox == outbox && !t.subagent.IsZero() {
			ids = append(ids, t.subagent.String())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// of are the notices that concern an outbox.
func (n *notices) of(outbox string) (now delegation.Notices) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, notice := range noticeTexts {
		since := append(n.holders(trouble{code: notice.Code}), n.holders(trouble{code: notice.Code, outbox: outbox})...)
		if len(since) > 0 {
			notice.Since = slices.MinFunc(since, time.Time.Compare)
			notice.Text = naming(notice.Text, n.named(notice.Code, outbox))
			now = append(now, notice)
		}
	}
	return now
}

// codeOf is what an error of the system tells of, and otherwise what its caller thinks.
func codeOf(err error, otherwise delegation.NoticeCode) delegation.NoticeCode {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return delegation.NoticeDescriptors
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return delegation.NoticeDisk
	}
	return otherwise
}

// hold is one holder's troubles, of which it has one at a time. Of a nil one nobody is told.
type hold struct {
	notices *notices

	mu   sync.Mutex
	now  trouble // none while its code is ""
	over bool
}

// begin says why the holder is held up now.
func (h *hold) begin(code delegation.NoticeCode, why error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	next := trouble{code: codeOf(why, code), outbox: h.now.outbox, holder: h, subagent: h.now.subagent}
	if h.now.code != "" && h.now.code != next.code {
		h.notices.end(h.now)
	}
	h.now = next
	h.notices.begin(next, why)
}

// end says that the holder goes on.
func (h *hold) end() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}

// close is end for good: who comes late to say that the holder is held up is not heard.
func (h *hold) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
	h.over = true
}

// drop is end for who has the lock.
func (h *hold) drop() {
	if h.now.code != "" {
		h.notices.end(h.now)
		h.now.code = ""
	}
}

// newHold is for somebody who may be held up. outbox is whom that concerns, "" for everybody.
func (n *notices) newHold(outbox string) *hold {
	return &hold{notices: n, now: trouble{outbox: outbox}}
}

// newHoldOf is for a run that may be held up, which the notice names to the clients of its outbox.
func (n *notices) newHoldOf(outbox string, id delegation.SubagentID) *hold {
	held := n.newHold(outbox)
	held.now.subagent = id
	return held
}

// maxNamed is how many runs a notice names.
const maxNamed = 3

// naming adds to a notice's text which runs it is about.
func naming(text string, ids []string) string {
	if len(ids) == 0 {
		return text
	}
	more := ""
	if over := len(ids) - maxNamed; over > 0 {
		ids, more = ids[:maxNamed], fmt.Sprintf(" and %d more", over)
	}
	return fmt.Sprintf("%s Subagents: %s%s.", text, strings.Join(ids, ", "), more)
}
