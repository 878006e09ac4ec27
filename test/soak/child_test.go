package soak

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// kind is what a child does, and what comes of that when it is left alone.
type kind struct {
	name    string
	ticks   int // in the ledger, 50 ms apart
	exit    int
	timeout int  // seconds; 0 for plenty
	says    bool // a line for each tick
	deaf    bool // to INT, so that it takes ten seconds to end it
	litters bool // it leaves a process behind that minds no signal
}

const plenty = 60

var kinds = []weighted[*kind]{
	{&kind{name: "quick", ticks: 1}, 30},
	{&kind{name: "long", ticks: 50}, 12},
	{&kind{name: "longer", ticks: 120}, 6},
	{&kind{name: "failing", ticks: 3, exit: 3}, 8},
	{&kind{name: "talking", ticks: 30, says: true}, 12},
	{&kind{name: "slow", ticks: 400, timeout: 1}, 5},
	{&kind{name: "littering", ticks: 3, litters: true}, 6},
	{&kind{name: "deaf", ticks: 60, deaf: true}, 1},
}

// script is a child in the shell. It writes into the ledger of its workspace what it does, for whom, since when it lives,
// and the time. A line is one write at the ledger's end.
const script = `exec bash -c '
born=$EPOCHREALTIME
say() { echo "$1 %[1]s $born $EPOCHREALTIME" >>ledger; }
mkfifo /tmp/nap && exec 3<>/tmp/nap
nap() { read -rt 0.05 -u 3; }
say start
%[2]s
for ((i = 0; i < %[3]d; i++)); do
  say tick
  %[4]s
  nap
done
say end
exit %[5]d'`

// taskFor is the request's task.
func (k *kind) taskFor(token string) string {
	before, each := ":", ":"
	switch {
	case k.deaf:
		before = `trap "" INT`
	case k.litters:
		before = `(trap "" INT TERM HUP; while :; do say tick; nap; done) &`
	}
	if k.says {
		each = `echo "line $i of ` + token + `"`
	}
	return fmt.Sprintf(script, token, before, k.ticks, each, k.exit)
}

// output is what the child has printed when it has done everything.
func (k *kind) output(token string) string {
	var said strings.Builder
	for i := range k.ticks {
		if k.says {
			fmt.Fprintf(&said, "line %d of %s\n", i, token)
		}
	}
	return said.String()
}

// life is one child, as its ledger has it.
type life struct {
	token, workspace string
	born, last       time.Time // its first line and its last one
	starts, ends     int
}

// readLedger takes a ledger apart, in the order of births.
func readLedger(path string) (lives []*life, err error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	known := map[string]*life{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 4 {
			return nil, fmt.Errorf("%s: %q is no line of a child's", path, lines.Text())
		}
		l := known[words[1]+" "+words[2]]
		if l == nil {
			l = &life{token: words[1], workspace: path, born: clock(words[2])}
			known[words[1]+" "+words[2]] = l
			lives = append(lives, l)
		}
		if err := l.add(words[0], clock(words[3])); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return lives, lines.Err()
}

func (l *life) add(what string, at time.Time) error {
	switch what {
	case "start":
		l.starts++
	case "end":
		l.ends++
	case "tick":
	default:
		return fmt.Errorf("%q is nothing that a child does", what)
	}
	if at.After(l.last) {
		l.last = at
	}
	return nil
}

// clock reads the shell's clock; what it cannot read is the beginning of time, which no rule takes for a child's.
func clock(text string) time.Time {
	seconds, micros, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	µs, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, µs*1000)
}
