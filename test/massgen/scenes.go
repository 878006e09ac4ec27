package massgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// scenes are what a MassGen can come to.
var scenes = map[string]func(w *work, rest string) int{
	"partial": func(w *work, rest string) int { return w.stopped(rest, false) }, // an answer, no winner, and then it is ended
	"chosen":  func(w *work, rest string) int { return w.stopped(rest, true) },
	"time": func(w *work, rest string) int { // its own time is up
		w.answers(w.team.Agents[0], rest)
		w.event("orchestrator_timeout", "", object{"timeout_reason": "Time limit exceeded (30.1s/30s)", "available_answers": 1})
		return exitTime
	},
	"listen": (*work).listens,
	"quiet":  func(w *work, rest string) int { return w.finish(rest) }, // no model is asked
	"mute": func(w *work, rest string) int { // it leaves no answer file
		w.event("final_answer", w.team.Agents[0].ID, object{"content": rest})
		return exitOK
	},
	"lie": func(w *work, _ string) int { // its status says that all is well, and where another's answer is
		w.status.Complete, w.status.Finish = true, "completed"
		w.status.Results = object{"winner": "../../etc", "votes": object{}}
		w.status.History = []any{object{"agentId": "../../etc", "timestamp": "..", "workspacePath": "/etc"}, object{"agentId": "x", "timestamp": "1", "workspacePath": "../../.."}}
		w.phase("presentation", 100)
		return exitTime
	},
	"huge": func(w *work, rest string) int { // a status of 64 MB, and an event that has no end
		big, err := os.OpenFile(filepath.Join(w.dir, "status.json"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
		if err == nil {
			err = errors.Join(big.Truncate(64<<20), big.Close())
		}
		line := strings.Repeat("x", 1<<20)
		for range 12 {
			fmt.Fprint(w.events, line)
		}
		fmt.Fprintln(w.events)
		w.event("text", w.team.Agents[0].ID, object{"content": "still here"})
		if err := errors.Join(err, os.WriteFile(w.output, []byte(rest), 0o644)); err != nil {
			panic(err)
		}
		return exitOK
	},
}

// stopped has an answer and works on until a signal comes. An interrupt has it save what there is of the turn.
func (w *work) stopped(answer string, chosen bool) int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT)
	w.said = append(w.said, object{"role": "user", "content": w.task})
	w.answers(w.team.Agents[0], answer)
	if chosen {
		w.chooses(w.team.Agents[0])
	}
	w.event("text", w.team.Agents[0].ID, object{"content": "going on"})
	if err := os.WriteFile("began", nil, 0o644); err != nil {
		panic(err)
	}
	<-interrupted
	if err := w.save(answer); err != nil {
		panic(err)
	}
	return exitInterrupted
}

// listens waits for a message of its parent's, which is its answer. It looks as seldom as MassGen does, and not before there is a file go.
func (w *work) listens(string) int {
	w.event("text", w.team.Agents[0].ID, object{"content": "listening"})
	for ; ; time.Sleep(2 * time.Second) {
		if _, err := os.Stat("go"); err != nil {
			continue
		}
		files, err := filepath.Glob(".massgen/runtime_inbox/msg_*.json")
		if err != nil {
			panic(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			var message struct {
				Content string   `json:"content"`
				Source  string   `json:"source"`
				Targets []string `json:"target_agents"`
			}
			if err == nil {
				err = errors.Join(json.Unmarshal(data, &message), os.Remove(file))
			}
			if err != nil {
				panic(err)
			}
			return w.finish(message.Source + " said " + message.Content)
		}
	}
}
