package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// asWritten is the ending that a part has to have.
func (p part) asWritten() ending {
	e := ending{Child: p.child, Status: p.status, Reason: p.reason, Answer: p.answer}
	if p.code != "" {
		e.Refusal = &delegation.Refusal{Code: p.code}
	}
	return e
}

func TestOnlyTheWrittenEndingPasses(t *testing.T) {
	for _, p := range play() {
		if err := p.judge(p.asWritten()); err != nil {
			t.Errorf("%s: %v", p.child, err)
		}
		for name, change := range map[string]func(*ending){
			"status":  func(e *ending) { e.Status = "other" },
			"reason":  func(e *ending) { e.Reason = delegation.ReasonLost },
			"answer":  func(e *ending) { e.Answer += "?" },
			"refusal": func(e *ending) { e.Refusal = &delegation.Refusal{Code: delegation.CodeInternal} },
		} {
			e := p.asWritten()
			if change(&e); p.judge(e) == nil {
				t.Errorf("%s passes with another %s", p.child, name)
			}
		}
	}
}

func TestOnlyAShutCagePasses(t *testing.T) {
	shut := cage{Interfaces: []string{"lo"}, Capabilities: "0000000000000000 0000000000000000", UID: 1000}
	if err := shut.judge(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*cage){
		"a network":      func(c *cage) { c.Interfaces = []string{"lo", "eth0"} },
		"a capability":   func(c *cage) { c.Capabilities = "0000000000000000 0000000000200000" },
		"root":           func(c *cage) { c.UID = 0 },
		"the engine":     func(c *cage) { c.Socket = true },
		"no interface":   func(c *cage) { c.Interfaces = nil },
		"no information": func(c *cage) { c.Capabilities = "" },
	} {
		c := shut
		if change(&c); c.judge() == nil {
			t.Errorf("a cage with %s passes", name)
		}
	}
}

func seen(kind string, things ...string) sight {
	s := sight{kind: map[string]bool{}}
	for _, thing := range things {
		s[kind][thing] = true
	}
	return s
}

func TestWhatIsLeft(t *testing.T) {
	marks := []string{"torno-demo-1", "0123456789abcdef"}
	for name, c := range map[string]struct {
		kind          string
		before, after []string
		private       bool
		want          []string
	}{
		"ours":                        {kind: "mounts", after: []string{"1 / on /tmp/torno-demo-1/x"}, want: []string{"1 / on /tmp/torno-demo-1/x"}},
		"ours from before":            {kind: "images", before: []string{"torno-demo-1"}, after: []string{"torno-demo-1"}},
		"a stranger's":                {kind: "containers", after: []string{"/web 12 {}"}},
		"on an engine of our own":     {kind: "volumes", after: []string{"anonymous"}, private: true, want: []string{"anonymous"}},
		"not on the engine":           {kind: "cgroups", after: []string{"/sys/fs/cgroup/user"}, private: true},
		"gone":                        {kind: "volumes", before: []string{"0123456789abcdef"}},
		"several, in order, by label": {kind: "volumes", after: []string{"b 0123456789abcdef", "a 0123456789abcdef"}, want: []string{"a 0123456789abcdef", "b 0123456789abcdef"}},
	} {
		got := left(seen(c.kind, c.before...), seen(c.kind, c.after...), c.kind, marks, c.private)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestComparisonFailsWithWhatIsLeft(t *testing.T) {
	var out bytes.Buffer
	err := newPage(&out).compare(sight{}, seen("volumes", "torno-demo-1-init"), []string{"torno-demo-1"}, false)
	if err == nil || !strings.Contains(err.Error(), "volumes: torno-demo-1-init") {
		t.Errorf("a volume is left, and the comparison says %v", err)
	}
	if err := newPage(&out).compare(sight{}, sight{}, nil, false); err != nil {
		t.Error(err)
	}
}

func TestDemultiplex(t *testing.T) {
	frames := "\x01\x00\x00\x00\x00\x00\x00\x03one\x02\x00\x00\x00\x00\x00\x00\x05error\x01\x00\x00\x00\x00\x00\x00\x03two"
	var stdout, stderr strings.Builder
	if err := demultiplex(strings.NewReader(frames), &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "onetwo" || stderr.String() != "error" {
		t.Errorf("%q and %q", stdout.String(), stderr.String())
	}
	if err := demultiplex(strings.NewReader(frames[:len(frames)-1]), &stdout, &stderr); err == nil {
		t.Error("a torn frame is taken for a whole one")
	}
}

func TestAPageSaysWhatWentWrong(t *testing.T) {
	var out strings.Builder
	p, digger := newPage(&out), play()[helpers]
	e := digger.asWritten()
	e.Took = 1500 * time.Millisecond
	p.ending(digger, e)
	e.Status, e.Reason = delegation.StatusError, delegation.ReasonLost
	p.ending(digger, e)
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[0], "✓ digger     cancelled") || !strings.HasSuffix(lines[0], "1500 ms") {
		t.Errorf("a good ending is %q", lines[0])
	}
	if !strings.HasPrefix(lines[1], "✗ digger     lost") {
		t.Errorf("a bad one is %q", lines[1])
	}
}
