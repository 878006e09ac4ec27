package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"
)

// loadLog knows how busy the machine was. One goroutine of Watch writes it.
type loadLog struct {
	mu   sync.Mutex
	seen []loadSeen
}

type loadSeen struct {
	at   time.Time
	load string
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
	text := "not known"
	if len(parts) > 0 {
		text = "load " + parts[0]
	}
	if some := strings.Fields(string(pressure)); len(some) > 1 {
		text += ", cpu pressure " + some[1]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, loadSeen{at, text})
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
