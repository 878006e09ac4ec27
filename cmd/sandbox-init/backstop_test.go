//go:build linux

package main_test

import (
	"testing"
	"time"

	"torno/internal/runfile"
)

// TestInitEndsAnAgentWhoseTimeIsOver: no watcher is there, and the agent, with a process of its own, ignores all that can be
// ignored, and fights init as far as it may.
func TestInitEndsAnAgentWhoseTimeIsOver(t *testing.T) {
	for name, script := range map[string]string{
		"ignores": `trap "" HUP INT QUIT USR1 USR2 TERM; setsid sh -c 'trap "" HUP INT TERM; while :; do :; done' & while :; do :; done`,
		"fights": `trap "" HUP INT QUIT USR1 USR2 TERM; while :; do kill -STOP 1; kill -KILL 1; kill -USR1 1; kill -ALRM 1; kill -CHLD 1
			renice 19 -p 1; prlimit --pid 1 --cpu=1:1; done >/dev/null 2>&1`,
		"is stopped": `kill -STOP $$; sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, script)
			b.file.Allowed, b.file.Grace = 500*time.Millisecond, 500*time.Millisecond
			begin := time.Now()
			r := b.run(t)
			r.exits(t, 128+9)
			if took := time.Since(begin); took < time.Second {
				t.Errorf("it ended after %s, within its time", took)
			}
		})
	}
}

// TestInitLeavesAnAgentItsTime: what ends by itself ends as it likes, also in the grace.
func TestInitLeavesAnAgentItsTime(t *testing.T) {
	b := newBox(t, `sleep 0.5; exit 3`)
	b.file.Allowed, b.file.Grace = 100*time.Millisecond, runfile.Grace
	b.run(t).exits(t, 3)
}
