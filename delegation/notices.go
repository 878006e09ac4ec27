package delegation

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Notice tells why a live watcher cannot do its work, so that a waiting client can tell the reason for the delay. It is
// a courtesy: nobody decides anything by it.
type Notice struct {
	Code  NoticeCode `json:"code"`
	Text  string     `json:"text"`           // one sentence for people
	Since time.Time  `json:"since,omitzero"` // by the host's clock
}

// NoticeCode tells notices apart. Newer watchers may have more codes than this package knows.
type NoticeCode string

// The codes of notices.
const (
	// NoticeLauncher: a launcher does not answer, or answers with errors. The word "engine" comes from earlier
	// versions; clients know the notice by it.
	NoticeLauncher NoticeCode = "engine"

	NoticeDisk        NoticeCode = "disk"        // there is too little free space, on the host or for the engine
	NoticeJournal     NoticeCode = "journal"     // the journal cannot be written, so nothing is started
	NoticeDescriptors NoticeCode = "descriptors" // the watcher is out of file descriptors
	NoticeImage       NoticeCode = "image"       // a profile's image or root file system is missing
	NoticeOutbox      NoticeCode = "outbox"      // the outbox cannot be listed, or takes some files and not others
	NoticeSandbox     NoticeCode = "sandbox"     // a sandbox that may be alive cannot be ended; its run keeps its place
	NoticeLeftovers   NoticeCode = "leftovers"   // sandboxes that have ended cannot be removed; their runs do not wait for that
	NoticeStranded    NoticeCode = "stranded"    // some runs have their sandboxes on a site, and another site has taken its place
	NoticeGateway     NoticeCode = "gateway"     // the model gateway is not available, and some runs need it
	NoticeRoute       NoticeCode = "route"       // a model or a registry cannot be reached, or refuses the host's credential
	NoticeReload      NoticeCode = "reload"      // a new configuration waits for a launcher that hangs; the old one is served
)

// Bounds of the notices in a heartbeat. Whatever exceeds them is left out.
const (
	maxNotices    = 16
	maxNoticeText = 500 // bytes
)

// Notices are a watcher's troubles, told with its heartbeat, the most important first. Decoding leaves out words that
// it does not understand: a live watcher must not look dead because of one unknown word.
type Notices []Notice

// UnmarshalJSON keeps the notices that it can read and never fails.
func (n *Notices) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	_ = json.Unmarshal(data, &list) // anything but a list counts as an empty list
	*n = nil
	for _, entry := range list[:min(len(list), 4*maxNotices)] {
		var notice Notice
		if decodeStrict(entry, &notice, "code", "text") == nil {
			*n = append(*n, notice)
		}
	}
	*n = n.tidy()
	return nil
}

// tidy returns the list in its one spelling: valid entries only, one line each, bounded.
func (n Notices) tidy() Notices {
	var kept Notices
	for _, notice := range n {
		notice.Text, notice.Since = oneLine(notice.Text), wireTime(notice.Since)
		if isWord(string(notice.Code)) && notice.Text != "" && len(kept) < maxNotices {
			kept = append(kept, notice)
		}
	}
	return kept
}

// oneLine returns text without line breaks and other controls, cut to maxNoticeText.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, atMost(text, maxNoticeText))
	return strings.TrimSpace(atMost(text, maxNoticeText)) // cut again: a replaced character may have become longer
}

// atMost returns the beginning of a text, in whole characters.
func atMost(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "")
}
