package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

func TestListTellsWhereEachRunStands(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	task := strings.Repeat("ä", 150)
	queued, running, ended, silent := h.spawn(m, SpawnOptions{ID: "a", Task: task, Timeout: time.Minute}),
		h.spawn(m, SpawnOptions{ID: "b"}), h.spawn(m, SpawnOptions{ID: "c"}), h.spawn(m, SpawnOptions{ID: "d"})
	since := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	h.tell(queued, delegation.StateQueued, func(s *delegation.RunStatus) { s.Position = 3 })
	h.tell(running, delegation.StateRunning, func(s *delegation.RunStatus) { s.RunningSince = since })
	h.respond(ended, func(r *delegation.Response) {
		r.Status, r.ExitCode, r.Usage = delegation.StatusError, 7, &delegation.Usage{Model: &delegation.ModelUsage{Requests: 3, Money: "0.5"}}
		r.StartedAt, r.CompletedAt = since, since.Add(time.Minute)
	})
	h.tell(silent, delegation.StateEnded, func(s *delegation.RunStatus) { s.RequestID = "an earlier one" })

	list, err := m.List(t.Context())
	if err != nil || len(list.Items) != 4 || list.More {
		t.Fatalf("list %+v, %v", list, err)
	}
	a, b, c, d := list.Items[0], list.Items[1], list.Items[2], list.Items[3]
	if a.State != delegation.StateQueued || a.Position != 3 || a.Task != strings.Repeat("ä", 100) || a.Timeout != time.Minute {
		t.Errorf("queued: %+v", a)
	}
	if b.State != delegation.StateRunning || !b.RunningSince.Equal(since) || b.Workspace != running.Workspace() {
		t.Errorf("running: %+v", b)
	}
	if c.State != delegation.StateEnded || c.Status != delegation.StatusError || c.ExitCode != 7 || c.Usage == nil || *c.Usage.Model != (delegation.ModelUsage{Requests: 3, Money: "0.5"}) {
		t.Errorf("ended: %+v", c)
	}
	if !c.StartedAt.Equal(since) || !c.CompletedAt.Equal(since.Add(time.Minute)) {
		t.Errorf("ended: from %s to %s", c.StartedAt, c.CompletedAt)
	}
	if d.State != "" || d.RequestID != silent.RequestID() {
		t.Errorf("silent: %+v", d)
	}
}

func TestListPassesOverJunk(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	h.spawn(m, SpawnOptions{ID: "good"})
	good := string(must2(h.dir.Read("request_good.json", 1<<20)))
	write(t, h.join("request_other.json"), good) // says that it is good's
	write(t, h.join("request_torn.json"), good[:20])
	write(t, h.join("request_.json"), "{}")
	write(t, h.join("notes.txt"), "")
	if err := mkfifo(h.join("request_fifo.json")); err != nil {
		t.Fatal(err)
	}
	list, err := m.List(t.Context())
	if err != nil || len(list.Items) != 1 || list.Items[0].SubagentID != "good" {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestListIsBounded(t *testing.T) {
	h := newHost(t)
	m := h.client(Options{})
	h.spawn(m, SpawnOptions{ID: "first"})
	good := string(must2(h.dir.Read("request_first.json", 1<<20)))
	for i := range MaxItems {
		id := fmt.Sprint("s", i)
		write(t, h.join("request_"+id+".json"), strings.ReplaceAll(good, `"first"`, fmt.Sprintf("%q", id)))
	}
	list, err := m.List(t.Context())
	if err != nil || len(list.Items) != MaxItems || !list.More {
		t.Errorf("%d items, more %v, %v", len(list.Items), list.More, err)
	}
	if !slices.IsSortedFunc(list.Items, func(a, b Item) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
		t.Error("not sorted by age")
	}
}

func must2(data []byte, _ delegation.Stamp, err error) []byte { return must(data, err) }
