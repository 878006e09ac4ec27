package delegation

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// requestForm is a request in its written form; the fields stand in the order of MassGen's client.
type requestForm struct {
	Version        int            `json:"version"`
	SubagentID     SubagentID     `json:"subagent_id"`
	RequestID      RequestID      `json:"request_id"`
	Task           string         `json:"task"`
	YAMLConfig     map[string]any `json:"yaml_config"`
	AnswerFile     string         `json:"answer_file"`
	Workspace      string         `json:"workspace"`
	TimeoutSeconds int            `json:"timeout_seconds"`
	CreatedAt      time.Time      `json:"created_at,omitzero"`
	Profile        Token          `json:"profile,omitzero"`
	Model          Token          `json:"model,omitzero"`
	SessionID      Token          `json:"session_id,omitzero"`
	ParentID       Token          `json:"parent_id,omitzero"`
	ContextPaths   []string       `json:"context_paths,omitempty"`
	WorkspaceMade  bool           `json:"workspace_made,omitempty"`
}

// Encode writes a request in its one spelling. It refuses whatever DecodeRequest would refuse, with the same *Refusal,
// so a client need not send the request to find out.
func (r Request) Encode() ([]byte, error) {
	for _, text := range append([]string{r.Task, r.AnswerFile, r.Workspace}, r.ContextPaths...) {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("encode request: %.40q is not valid UTF-8", text)
		}
	}
	form := requestForm{
		Version: Version, SubagentID: r.SubagentID, RequestID: r.RequestID, Task: r.Task, YAMLConfig: r.YAMLConfig,
		AnswerFile: r.AnswerFile, Workspace: r.Workspace, TimeoutSeconds: r.TimeoutSeconds, CreatedAt: r.CreatedAt.UTC(),
		Profile: r.Profile, Model: r.Model, SessionID: r.SessionID, ParentID: r.ParentID, ContextPaths: r.ContextPaths, WorkspaceMade: r.WorkspaceMade,
	}
	if form.YAMLConfig == nil {
		form.YAMLConfig = map[string]any{}
	}
	data, err := encode(form)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	back, err := DecodeRequest(data)
	if err != nil {
		return nil, err
	}
	if back.TimeoutSeconds != r.TimeoutSeconds {
		return nil, fmt.Errorf("encode request: timeout_seconds is at most %d, got %d", back.TimeoutSeconds, r.TimeoutSeconds)
	}
	if !back.CreatedAt.Equal(r.CreatedAt) {
		return nil, fmt.Errorf("encode request: created_at is not within the years 1 to 9999: %v", r.CreatedAt)
	}
	return data, nil
}
