package client

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"torno/delegation"
	"torno/manager"
	"torno/test/attack"
)

// noun is a file of the outbox that the client reads.
type noun struct {
	name string
	file func(s *scene) string
	good func(s *scene, request, text string) []byte // as the host would write it

	without []string // the lies that it has no words for
}

var nouns = []noun{
	{"response", named("response_s1.json"), func(s *scene, request, text string) []byte { return s.encoded(response(request, text)) }, nil},
	{"status", named("status_s1.json"), func(s *scene, request, text string) []byte {
		return s.encoded(delegation.RunStatus{
			Version: 1, SubagentID: "s1", RequestID: request, State: delegation.StateEnded, Reason: delegation.Reason(text), Position: 7,
		})
	}, nil},
	{
		"heartbeat", named(delegation.HeartbeatName), func(s *scene, _, text string) []byte { return s.encoded(heartbeat(text)) },
		[]string{"of another request", "of another subagent"},
	},
	{
		"segment",
		func(s *scene) string { return segment(s, s.run.RequestID()) },
		func(s *scene, _, text string) []byte {
			data, err := delegation.EncodeEvents([]delegation.Event{{Seq: 1, Type: delegation.EventStdout, Text: text}})
			s.must(err)
			return data
		},
		[]string{"of another subagent", "of a later version", "with a member twice"},
	},
}

func named(name string) func(*scene) string { return func(*scene) string { return name } }

func segment(s *scene, request string) string {
	id, err := delegation.ParseRequestID(request)
	s.must(err)
	subagent, err := delegation.ParseSubagentID("s1")
	s.must(err)
	return delegation.EventsName(subagent, id, 1)
}

// TestFilesThatAreTraps: whatever stands in the place of a file, the client does not follow it, does not wait for it, and
// takes the true one when it comes.
func TestFilesThatAreTraps(t *testing.T) {
	trial := &attack.Trial{Row: "W9", Where: "manager", Oracle: true}
	all := append([]trap{{"ten gigabytes", "", tenGB}}, traps...)
	for _, n := range nouns {
		for _, trap := range all {
			t.Run(n.name+"/"+trap.name, func(t *testing.T) {
				s := newScene(t)
				s.spawn()
				s.must(os.WriteFile(s.secret(), n.good(s, s.run.RequestID(), planted), 0o600)) // so that a link would pay
				path := s.path(n.file(s))
				if !s.spring(trap, path) {
					t.Skip("NOT SHOWN HERE: a device cannot be made")
				}
				s.score(trial, func() bool { return s.falls(path) }, s.unimpressed)
			})
		}
	}
	attack.Record(t, *trial)
}

// lies are contents that are not this run's file.
var lies = map[string]func(s *scene, n noun) []byte{
	"torn": func(s *scene, n noun) []byte {
		good := n.good(s, s.run.RequestID(), planted)
		return good[:len(good)-3]
	},
	"nonsense":           func(*scene, noun) []byte { return []byte(planted + "\x00\xff") },
	"nested":             func(*scene, noun) []byte { return []byte(strings.Repeat("[", 1<<16) + planted) },
	"of another request": func(s *scene, n noun) []byte { return n.good(s, "another", planted) },
	"of another subagent": func(s *scene, n noun) []byte {
		return []byte(strings.Replace(string(n.good(s, s.run.RequestID(), planted)), `"s1"`, `"s2"`, 1))
	},
	"of a later version": func(s *scene, n noun) []byte {
		return []byte(strings.Replace(string(n.good(s, s.run.RequestID(), planted)), `"version": 1`, `"version": 2`, 1))
	},
	"with a member twice": func(s *scene, n noun) []byte {
		return []byte(strings.Replace(string(n.good(s, s.run.RequestID(), planted)), `{`, `{"version": 1,`, 1))
	},
}

// TestFilesThatLie: a plain file counts only when it is whole, of this version, and of this very run.
func TestFilesThatLie(t *testing.T) {
	trial := &attack.Trial{Row: "W10", Where: "manager", Oracle: true}
	for _, n := range nouns {
		for name, lie := range lies {
			if slices.Contains(n.without, name) {
				continue
			}
			t.Run(n.name+"/"+name, func(t *testing.T) {
				s := newScene(t)
				s.spawn()
				content, file := lie(s, n), n.file(s)
				if n.name == "segment" && name == "of another request" {
					file = segment(s, "another")
				}
				s.must(os.RemoveAll(s.path(file)), os.WriteFile(s.path(file), content, 0o600))
				s.score(trial, func() bool { return s.falls(s.path(file)) }, s.unimpressed)
			})
		}
	}
	attack.Record(t, *trial)
}

// unimpressed uses every way in which a client reads the outbox while something stands there, puts the true files into
// their places, and takes the result.
func (s *scene) unimpressed() bool {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	seen := s.looksAround(ctx)
	looked := make(chan struct{})
	var result manager.Result
	done := make(chan error, 1)
	go func() {
		first := true
		var err error
		result, err = s.run.WaitWithUpdates(ctx, func(p manager.WaitUpdate) {
			seen += fmt.Sprintf("%+v", p)
			if first {
				first = false
				close(looked)
			}
		})
		if err == nil {
			err = s.run.Acknowledge(result)
		}
		done <- err
	}()
	select {
	case <-looked:
	case err := <-done:
		s.Errorf("the wait ended at what is planted: %+v, %v", result, err)
		return false
	}
	s.replaceAll()
	if err := <-done; err != nil || result.StdoutTail != "the truth" {
		s.Errorf("the result is %+v, %v", result, err)
		return false
	}
	if strings.Contains(seen, planted) {
		s.Errorf("it took what is planted: %s", seen)
		return false
	}
	return true
}

// looksAround lists, asks which watcher serves, and reads the live output.
func (s *scene) looksAround(ctx context.Context) string {
	s.Helper()
	list, err := s.client.List(ctx)
	s.must(err)
	beat, nobody := s.client.Serving()
	seen := fmt.Sprintf("%+v %+v %v", list, beat, nobody)
	for event, err := range s.run.Events(ctx, 1, false) {
		s.must(err)
		seen += fmt.Sprintf("%+v %s", event, event.Output())
	}
	return seen
}

// replaceAll is the host, which writes each of its files when it is time. What it cannot replace, its owner takes away.
func (s *scene) replaceAll() {
	s.Helper()
	for _, n := range nouns {
		name := n.file(s)
		if info, err := os.Lstat(s.path(name)); err == nil && info.IsDir() {
			s.must(os.Remove(s.path(name)))
		}
	}
	s.beat()
	s.respond()
}
