package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// loadLog knows how busy the machine was. One goroutine of Watch writes it.
type loadLog struct {
	mu    sync.Mutex
	seen  []loadSeen
	spent spent // of Watch alone
}

// spent is the processor time of the machine so far, and the part of it that its host gave to others.
type spent struct{ all, stolen uint64 }

type loadSeen struct {
	at      time.Time
	average float64
	load    string
}

// Watch notes the load every five seconds until ctx is done.
func (l *loadLog) Watch(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		l.note(time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *loadLog) note(at time.Time) {
	average, _ := os.ReadFile("/proc/loadavg") // elsewhere than on Linux nothing is known
	pressure, _ := os.ReadFile("/proc/pressure/cpu")
	parts := strings.Fields(string(average))
	text, average1 := "not known", 0.0
	if len(parts) > 0 {
		text = "load " + parts[0]
		average1, _ = strconv.ParseFloat(parts[0], 64)
	}
	if some := strings.Fields(string(pressure)); len(some) > 1 {
		text += ", cpu pressure " + some[1]
	}
	stat, _ := os.ReadFile("/proc/stat")
	now := spentIn(stat)
	if all := now.all - l.spent.all; l.spent.all > 0 && all > 0 {
		text += fmt.Sprintf(", steal %d %%", 100*(now.stolen-l.spent.stolen)/all)
	}
	l.spent = now
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, loadSeen{at, average1, text})
}

// highest returns the highest load that was noted.
func (l *loadLog) highest() (most float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seen := range l.seen {
		most = max(most, seen.average)
	}
	return most
}

// spentIn reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq and steal, then what is counted in user already.
func spentIn(stat []byte) (s spent) {
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil || i > 8 {
			continue // i is 0 for the word cpu
		}
		s.all += ticks
		if i == 8 {
			s.stolen = ticks
		}
	}
	return s
}

// at returns the last load noted before a moment.
func (l *loadLog) at(moment time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := "not known"
	for _, seen := range l.seen {
		if seen.at.After(moment) {
			break
		}
		found = seen.load
	}
	return found
}
