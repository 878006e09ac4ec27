package delegation

import (
	"fmt"
	"strings"
)

// MaxContextPaths limits the context paths of one request.
const MaxContextPaths = 64

const (
	hintID    = "begin with a letter or a digit; use at most 128 letters, digits and . _ -"
	hintToken = "begin with a letter or a digit; use at most 128 letters, digits and . _ : / @ -"
)

// DecodeRequest reads a request as hostile text. It forgives the differences in the table of docs/PROTOCOL.md and
// nothing else. The error is a *Refusal. It checks in the order of MassGen's watcher, and uses that watcher's sentences
// where there are any: first it parses, then it validates; the ids and our additions to version 1 come last.
// DecodeRequest does not bound the size; whoever reads the file does.
func DecodeRequest(data []byte) (Request, error) { return decodeRequest(data, leniencies) }

func decodeRequest(data []byte, rules []leniency) (Request, error) {
	form, refusal := readForm(data, rules)
	if refusal != nil {
		return Request{}, refusal
	}
	version := form.whole("version")
	subagent, request := form.text("subagent_id"), form.text("request_id")
	r := Request{
		Task:           form.text("task"),
		YAMLConfig:     form.object("yaml_config"),
		AnswerFile:     form.text("answer_file"),
		Workspace:      form.text("workspace"),
		TimeoutSeconds: form.whole("timeout_seconds"),
		CreatedAt:      form.time("created_at"),
		ContextPaths:   form.texts("context_paths"),
		WorkspaceMade:  form.flag("workspace_made"),
	}
	options := form.options()
	if form.refusal != nil {
		return Request{}, form.refusal
	}
	if refusal := validate(version, subagent, request, r); refusal != nil {
		return Request{}, refusal
	}
	if refusal := r.parseIDs(subagent, request, options); refusal != nil {
		return Request{}, refusal
	}
	if refusal := r.checkPaths(); refusal != nil {
		return Request{}, refusal
	}
	return r, nil
}

// validate makes the checks of MassGen's watcher, in its order and with its sentences.
func validate(version int, subagent, request string, r Request) *Refusal {
	checks := []struct {
		wrong       bool
		field, text string
		hint        string
	}{
		{
			version != Version, "version", fmt.Sprintf("Unsupported delegation protocol version: %d (expected %d)", version, Version),
			"write version 1",
		},
		{subagent == "", "subagent_id", "subagent_id must not be empty", "use the id of the file's name"},
		{request == "", "request_id", "request_id must not be empty", "use 16 random hexadecimal digits, new for every request"},
		{r.Task == "", "task", "task must not be empty", "say what the subagent shall do"},
		{r.Workspace == "", "workspace", "workspace must not be empty", "name a directory beneath an allowed root"},
		{
			r.TimeoutSeconds <= 0, "timeout_seconds", fmt.Sprintf("timeout_seconds must be positive, got %d", r.TimeoutSeconds),
			"give the time of the run in whole seconds",
		},
	}
	for _, c := range checks {
		if c.wrong {
			return invalid(CodeInvalid, c.field, c.text, c.hint)
		}
	}
	return nil
}

// parseIDs parses the ids and the optional words into their types.
func (r *Request) parseIDs(subagent, request string, options map[string]string) *Refusal {
	var err error
	if r.SubagentID, err = ParseSubagentID(subagent); err != nil {
		return invalid(CodeBadID, "subagent_id", err.Error(), hintID)
	}
	if r.RequestID, err = ParseRequestID(request); err != nil {
		return invalid(CodeBadID, "request_id", err.Error(), "use printable text of at most 256 bytes")
	}
	into := map[string]*Token{"profile": &r.Profile, "model": &r.Model, "session_id": &r.SessionID, "parent_id": &r.ParentID}
	for _, field := range tokens {
		text, given := options[field]
		if !given {
			continue
		}
		*into[field], err = ParseToken(text)
		if err != nil {
			return invalid(CodeInvalid, field, field+" "+err.Error(), hintToken)
		}
	}
	return nil
}

// checkPaths refuses texts that can be neither a path nor an argument. It does not look at where a path leads.
func (r *Request) checkPaths() *Refusal {
	if len(r.ContextPaths) > MaxContextPaths {
		return invalid(CodeInvalid, "context_paths", fmt.Sprintf("context_paths has %d entries, at most %d are allowed",
			len(r.ContextPaths), MaxContextPaths), "name a directory that holds them")
	}
	named := [][2]string{{"task", r.Task}, {"workspace", r.Workspace}, {"answer_file", r.AnswerFile}}
	for i, path := range r.ContextPaths {
		field := fmt.Sprintf("context_paths[%d]", i)
		if path == "" {
			return invalid(CodeInvalid, field, field+" must not be empty", "leave it out")
		}
		named = append(named, [2]string{field, path})
	}
	for _, n := range named {
		if strings.Contains(n[1], "\x00") {
			return invalid(CodeInvalid, n[0], n[0]+" must not contain a NUL character", "remove the character U+0000")
		}
	}
	return nil
}
