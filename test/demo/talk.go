package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
)

// message is one of a conversation with a model, as the Messages API has it.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// block is a part of a message: a text, a call of a tool, or what came of it.
type block struct {
	Type    string         `json:"type"`
	Text    string         `json:"text,omitempty"`
	ID      string         `json:"id,omitempty"`
	Name    string         `json:"name,omitempty"`
	Input   map[string]any `json:"input,omitempty"`
	Result  string         `json:"tool_use_id,omitempty"`
	Content string         `json:"content,omitempty"`
}

// question has the stand-in ask for a tool; a real model would be asked in words.
const question = `#tool Bash {"command":"expr 6 \\* 7"}`

// talk is a small agent: it tells a model its task, runs the commands that the model asks for, and prints the model's last word. It
// knows an address in its sandbox and no key.
func talk(task string, out io.Writer) error {
	said := []message{{"user", task}}
	for range 5 {
		answer, err := say(said)
		if err != nil {
			return err
		}
		said = append(said, message{"assistant", answer})
		var results []block
		for _, b := range answer {
			switch b.Type {
			case "text":
				fmt.Fprintln(out, b.Text)
			case "tool_use":
				did, err := exec.Command("sh", "-c", fmt.Sprint(b.Input["command"])).CombinedOutput()
				if err != nil {
					did = fmt.Appendf(did, "%v", err)
				}
				results = append(results, block{Type: "tool_result", Result: b.ID, Content: string(bytes.TrimSpace(did))})
			}
		}
		if len(results) == 0 {
			return nil
		}
		said = append(said, message{"user", results})
	}
	return errors.New("the model asks for one tool after another")
}

// say sends the conversation so far.
func say(said []message) ([]block, error) {
	body, err := json.Marshal(map[string]any{"model": "stand-in", "max_tokens": 100, "messages": said})
	if err != nil {
		return nil, err
	}
	response, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the model's answer is %s: %s", response.Status, raw)
	}
	var answer struct{ Content []block }
	return answer.Content, json.Unmarshal(raw, &answer)
}
