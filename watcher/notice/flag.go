package notice

import (
	"errors"
	"sync"
	"syscall"

	"torno/delegation"
)

// CodeOf returns the notice code that fits a system error, or otherwise if none does.
func CodeOf(err error, otherwise delegation.NoticeCode) delegation.NoticeCode {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return delegation.NoticeDescriptors
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return delegation.NoticeDisk
	}
	return otherwise
}

// Flag reports what holds up one piece of work, one trouble at a time. A nil flag reports nothing.
type Flag struct {
	notices *Board

	mu   sync.Mutex
	now  trouble // no trouble while its code is ""
	over bool
}

// Raise reports what holds the work up now.
func (h *Flag) Raise(code delegation.NoticeCode, why error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	next := trouble{code: CodeOf(why, code), outbox: h.now.outbox, flag: h, subagent: h.now.subagent}
	if h.now.code != "" && h.now.code != next.code {
		h.notices.lower(h.now)
	}
	h.now = next
	h.notices.raise(next, why)
}

// Lower reports that the work goes on.
func (h *Flag) Lower() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lower()
}

// Close lowers the flag for ever: later calls of Raise do nothing.
func (h *Flag) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lower()
	h.over = true
}

// lower takes the flag down. The lock is held.
func (h *Flag) lower() {
	if h.now.code != "" {
		h.notices.lower(h.now)
		h.now.code = ""
	}
}
