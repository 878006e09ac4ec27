package massgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// object is one of JSON's.
type object = map[string]any

// work is one run of it.
type work struct {
	arguments

	team    team
	session string
	turn    int
	before  []object // the messages of earlier turns
	said    []object // of this one
	dir     string   // of the attempt
	events  *os.File
	status  status
	spent   [2]int
}

type status struct {
	Meta         object `json:"meta"`
	Coordination object `json:"coordination"`
	Results      object `json:"results"`
	History      []any  `json:"historical_workspaces"`
	Costs        object `json:"costs"`
	Agents       object `json:"agents"`
	Finish       any    `json:"finish_reason"`
	Complete     bool   `json:"is_complete"`
}

// timestamp names what is written now, to the microsecond: two runs of one second do not meet.
func timestamp() string {
	return strings.Replace(time.Now().UTC().Format("20060102_150405.000000"), ".", "_", 1)
}

func newWork(a arguments, t team) (*work, error) {
	w := &work{arguments: a, team: t, session: a.session}
	if w.session == "" {
		w.session = fmt.Sprintf("session_%d", time.Now().UnixNano())
	} else if err := w.restore(); err != nil {
		return nil, err
	}
	log := "log_" + timestamp()
	w.dir = filepath.Join(".massgen", "massgen_logs", log, "turn_1", "attempt_1")
	for _, dir := range []string{w.dir, ".massgen/runtime_inbox"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	var err error
	w.events, err = os.OpenFile(filepath.Join(w.dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	w.status = status{
		Meta: object{"session_id": log}, Coordination: object{"phase": "initial_answer", "completion_percentage": 0}, Results: object{"winner": nil, "votes": object{}},
		Costs: object{}, Agents: object{},
	}
	w.writeStatus()
	return w, os.WriteFile(".massgen/.session_id", []byte(w.session), 0o644)
}

func (w *work) event(kind, agent string, data object) {
	line, err := json.Marshal(object{"timestamp": time.Now().Format("2006-01-02T15:04:05.000000"), "event_type": kind, "agent_id": agent, "round_number": 0, "data": data})
	if err != nil {
		panic(err)
	}
	if _, err := w.events.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func (w *work) writeStatus() {
	w.status.Costs = object{"total_input_tokens": w.spent[0], "total_output_tokens": w.spent[1], "total_estimated_cost": 0.0}
	data, err := json.MarshalIndent(w.status, "", "  ")
	file := filepath.Join(w.dir, "status.json")
	if err == nil {
		err = errors.Join(os.WriteFile(file+".tmp", data, 0o644), os.Rename(file+".tmp", file))
	}
	if err != nil {
		panic(err)
	}
}

func (w *work) phase(name string, percentage int) {
	w.status.Coordination = object{"phase": name, "completion_percentage": percentage}
	w.writeStatus()
}

// solve has the first agent of the team do the task, and the others look on.
func (w *work) solve(task string) int {
	answer, err := w.ask(w.team.Agents[0], task)
	if err != nil {
		w.event("error", w.team.Agents[0].ID, object{"error": err.Error()})
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitExecution
	}
	w.answers(w.team.Agents[0], answer)
	for _, m := range w.team.Agents {
		w.event("vote", m.ID, object{"target_id": w.team.Agents[0].ID, "reason": "it is the only one"})
	}
	w.chooses(w.team.Agents[0])
	w.event("final_answer", w.team.Agents[0].ID, object{"content": answer})
	return w.finish(answer)
}

// answers leaves an agent's answer where MassGen keeps it.
func (w *work) answers(m member, answer string) {
	at := timestamp()
	label := "agent1.1"
	w.event("answer_submitted", m.ID, object{"content": answer, "answer_number": 1, "answer_label": label})
	kept := filepath.Join(m.Backend.Cwd, "..", "snapshots", m.ID)
	dir := filepath.Join(kept, at, "workspace")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(kept, at, "answer.txt"), []byte(answer), 0o644)); err != nil {
		panic(err)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		panic(err)
	}
	w.status.History = append(w.status.History, object{"answerId": "1", "agentId": m.ID, "answerNumber": 1, "answerLabel": label, "timestamp": at, "workspacePath": full})
	w.phase("enforcement", 50)
}

func (w *work) chooses(m member) {
	w.event("winner_selected", m.ID, object{"vote_results": nil})
	w.status.Results = object{"winner": m.ID, "votes": object{"agent1.1": len(w.team.Agents)}}
	w.phase("presentation", 90)
}

// finish writes the answer and saves the turn.
func (w *work) finish(answer string) int {
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.output), 0o755), os.WriteFile(w.output, []byte(answer+"\n"), 0o644), w.save(answer)); err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)
		return exitExecution
	}
	w.status.Complete, w.status.Finish = true, "completed"
	w.phase("presentation", 100)
	return exitOK
}

func (w *work) sessionDir() string { return filepath.Join(".massgen", "sessions", w.session) }

func (w *work) save(answer string) error {
	dir := filepath.Join(w.sessionDir(), fmt.Sprintf("turn_%d", w.turn+1))
	data, err := json.Marshal(append(w.said, object{"role": "assistant", "content": answer}))
	return errors.Join(err, os.MkdirAll(filepath.Join(dir, "workspace"), 0o755), os.WriteFile(filepath.Join(dir, "turn.json"), data, 0o644))
}

func (w *work) restore() error {
	turns, err := filepath.Glob(filepath.Join(w.sessionDir(), "turn_*", "turn.json"))
	if err != nil || len(turns) == 0 {
		return fmt.Errorf("session %s has no saved turns", w.session)
	}
	slices.Sort(turns)
	for _, file := range turns {
		data, err := os.ReadFile(file)
		var said []object
		if err == nil {
			err = json.Unmarshal(data, &said)
		}
		if err != nil {
			return err
		}
		w.before = append(w.before, said...)
	}
	w.turn = len(turns)
	return nil
}

// ask asks the model, and runs what it calls, until it answers.
func (w *work) ask(m member, task string) (string, error) {
	w.said = append(w.said, object{"role": "user", "content": task})
	for {
		said, err := w.post(m, append(slices.Clone(w.before), w.said...))
		if err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			w.event("text", m.ID, object{"content": said.Content})
			return said.Content, nil
		}
		w.said = append(w.said, object{"role": "assistant", "content": nil, "tool_calls": said.ToolCalls})
		for _, call := range said.ToolCalls {
			w.said = append(w.said, object{"role": "tool", "tool_call_id": call.ID, "content": w.runs(m, call)})
		}
	}
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type message struct {
	Content   string     `json:"content"`
	ToolCalls []toolCall `json:"tool_calls"`
}

func (w *work) post(m member, messages []object) (message, error) {
	body, err := json.Marshal(object{"model": m.Backend.Model, "messages": messages, "max_tokens": 1000})
	if err != nil {
		return message{}, err
	}
	request, err := http.NewRequest(http.MethodPost, strings.TrimSuffix(m.Backend.Base, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return message{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return message{}, errors.Join(err, fmt.Errorf("error code %d: %s", response.StatusCode, data))
	}
	var answer struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
		Usage struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.Choices) == 0 {
		return message{}, fmt.Errorf("no answer in %s: %w", data, err)
	}
	w.spent[0], w.spent[1] = w.spent[0]+answer.Usage.In, w.spent[1]+answer.Usage.Out
	w.writeStatus()
	return answer.Choices[0].Message, nil
}

// runs runs a command in the workspace.
func (w *work) runs(m member, call toolCall) string {
	var args struct {
		Command string `json:"command"`
	}
	err := json.Unmarshal([]byte(call.Function.Arguments), &args)
	w.event("tool_start", m.ID, object{"tool_id": call.ID, "tool_name": call.Function.Name, "args": json.RawMessage(call.Function.Arguments), "server_name": nil})
	var out []byte
	if err == nil {
		out, err = exec.Command("/bin/sh", "-c", args.Command).CombinedOutput()
	}
	text, failed := string(out), err != nil
	if failed {
		text += err.Error()
	}
	w.event("tool_complete", m.ID, object{"tool_id": call.ID, "tool_name": call.Function.Name, "result": text, "elapsed_seconds": 0.1, "status": "success", "is_error": failed, "async_id": nil})
	return text
}
