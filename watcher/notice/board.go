package notice

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"torno/delegation"
)

// Board has the watcher's present troubles, for watcher.json and for the operator's status. Work that is stopped by a
// trouble raises a flag and lowers it later; a notice stands as long as any of its flags is up.
//
// Parents read the notices. So each text is fixed and contains no path and no other parent's name; at most it names the
// parent's own subagents. The exact error goes into the log, once, when the trouble begins.
type Board struct {
	log     *slog.Logger
	Changed func() // called when a notice comes or goes

	mu   sync.Mutex
	held map[trouble]time.Time // since when
}

// trouble is the trouble that one flag reports.
type trouble struct {
	code   delegation.NoticeCode
	outbox string // the outbox whose clients are concerned; "" for all
	flag   *Flag

	subagent delegation.SubagentID // the subagent whose run is held up, if the notice names it
}

// noticeTexts lists the notices, the most important first.
var noticeTexts = []delegation.Notice{
	{Code: delegation.NoticeLauncher, Text: "The launcher does not answer, or is very slow; the watcher waits and asks it again."},
	{Code: delegation.NoticeSandbox, Text: "A sandbox does not end or cannot be removed; its run keeps its place and its workspace until the last process of the sandbox is gone."},
	{Code: delegation.NoticeLeftovers, Text: "Sandboxes that have ended cannot be removed. The watcher tries again; the runs do not wait for that."},
	{Code: delegation.NoticeStranded, Text: "Runs are stranded: another site answers instead of the site that has their sandboxes. The runs wait until their own site is back."},
	{Code: delegation.NoticeGateway, Text: "The model gateway is not available; runs that need it wait, and runs that use it already may fail."},
	{Code: delegation.NoticeRoute, Text: "The gateway cannot reach a model or a package registry, or that service refuses the host's credential; the operator's log names it."},
	{Code: delegation.NoticeJournal, Text: "The watcher cannot write its journal; it starts nothing new, and writes the responses to ended runs later."},
	{Code: delegation.NoticeDisk, Text: "There is too little free space; work that needs space is refused, is ended or waits."},
	{Code: delegation.NoticeDescriptors, Text: "The watcher has too many files open; work that needs one more file waits."},
	{Code: delegation.NoticeReload, Text: "A new configuration waits for a launcher that does not answer; until it answers, the old configuration is in force."},
	{Code: delegation.NoticeOutbox, Text: "The watcher cannot list the outbox, or cannot read or write all files in it; it tries again."},
}

// New returns a board without a flag.
func New(log *slog.Logger) *Board {
	return &Board{log: log, Changed: func() {}, held: make(map[trouble]time.Time)}
}

// raise notes trouble. Raising the same trouble again changes nothing. Without an error nothing is logged, because the
// operator was already told.
func (n *Board) raise(t trouble, why error) {
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
	n.Changed()
}

// lower takes trouble back. It may be called for trouble that never began.
func (n *Board) lower(t trouble) {
	n.mu.Lock()
	since, known := n.held[t]
	delete(n.held, t)
	last := known && len(n.holders(t)) == 0
	n.mu.Unlock()
	if last {
		n.log.Info("not held up any more", "by", t.code, "outbox", t.outbox, "for", time.Since(since).Round(time.Millisecond))
		n.Changed()
	}
}

// holders returns when each flag raised the same trouble. The lock is held.
func (n *Board) holders(t trouble) (since []time.Time) {
	for other, at := range n.held {
		if other.code == t.code && other.outbox == t.outbox {
			since = append(since, at)
		}
	}
	return since
}

// named returns the subagents that a notice is about. The lock is held.
func (n *Board) named(code delegation.NoticeCode, outbox string) (ids []string) {
	for t := range n.held {
		if t.code == code && t.outbox == outbox && !t.subagent.IsZero() {
			ids = append(ids, t.subagent.String())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Of returns the notices that concern an outbox.
func (n *Board) Of(outbox string) (now delegation.Notices) {
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

// Flag returns a flag for a piece of work. outbox is the outbox whose clients are concerned, "" for all.
func (n *Board) Flag(outbox string) *Flag {
	return &Flag{notices: n, now: trouble{outbox: outbox}}
}

// FlagOf returns a flag for a run. The notice names the run's subagent to the clients of its outbox.
func (n *Board) FlagOf(outbox string, id delegation.SubagentID) *Flag {
	held := n.Flag(outbox)
	held.now.subagent = id
	return held
}

// maxNamed is how many subagents a notice names.
const maxNamed = 3

// naming adds the subagents to a notice's text.
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
