package adapter

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// massgenLogs is MassGen's directory of logs, below its working directory. It contains log_TIME/turn_N/attempt_N.
const massgenLogs = ".massgen/massgen_logs"

const eventsFile = "events.jsonl"

// attempt is a directory with events and a status.
type attempt struct {
	log           string
	turn, attempt int // 0 if the log directory itself is the attempt
}

func (a attempt) dir() string {
	if a.turn == 0 {
		return path.Join(massgenLogs, a.log)
	}
	return path.Join(massgenLogs, a.log, "turn_"+strconv.Itoa(a.turn), "attempt_"+strconv.Itoa(a.attempt))
}

// before reports whether attempt a comes before attempt b. The names of logs begin with a time.
func (a attempt) before(b attempt) bool {
	switch {
	case a.log != b.log:
		return a.log < b.log
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.attempt < b.attempt
}

// attempts returns the attempts on disk, in order. It looks at a bounded number of entries, the newest logs first.
func attempts(root *os.Root) (found []attempt) {
	looked := 0
	numbered := func(dir, kind string) (numbers []int) {
		for _, name := range entries(root, dir) {
			looked++
			text, ok := strings.CutPrefix(name, kind)
			n, err := strconv.Atoi(text)
			if ok && err == nil && n > 0 && strconv.Itoa(n) == text {
				numbers = append(numbers, n)
			}
		}
		return numbers
	}
	logs := entries(root, massgenLogs)
	slices.Reverse(logs)
	for _, log := range logs {
		if looked++; looked > maxSessionFile {
			break
		}
		if !strings.HasPrefix(log, "log_") {
			continue
		}
		dir, before := path.Join(massgenLogs, log), len(found)
		for _, turn := range numbered(dir, "turn_") {
			if looked > maxSessionFile {
				break
			}
			for _, n := range numbered(path.Join(dir, "turn_"+strconv.Itoa(turn)), "attempt_") {
				found = append(found, attempt{log, turn, n})
			}
		}
		if info, err := root.Lstat(path.Join(dir, eventsFile)); len(found) == before && err == nil && info.Mode().IsRegular() {
			found = append(found, attempt{log: log})
		}
	}
	slices.SortFunc(found, func(a, b attempt) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return 0
	})
	return found
}
