package route

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Refusal is the answer to a request that does not leave. Clients show the text of a 400 and do not try again. After
// many other codes they try again for minutes. So if a retry cannot help, the code is 400.
type Refusal struct {
	Status int
	Code   string // for machines: "model_not_allowed"
	Text   string // for the child and its operator; it quotes at most a short part of the request
}

func (r *Refusal) Error() string { return r.Text }

// Codes of refusals.
const (
	CodePath     = "path_not_allowed"
	CodeMethod   = "method_not_allowed"
	CodeQuery    = "query_not_allowed"
	CodeHeader   = "header_not_allowed"
	CodeBody     = "body_not_understood"
	CodeTooLarge = "too_large"
	CodeModel    = "model_not_allowed"
	CodeReach    = "reach_not_allowed"
	CodeBudget   = "budget"
)

func refuse(status int, code, format string, args ...any) error {
	return &Refusal{Status: status, Code: code, Text: fmt.Sprintf(format, args...)}
}

func bad(code, format string, args ...any) error {
	return refuse(http.StatusBadRequest, code, format, args...)
}

// short quotes at most 80 bytes of a stranger's text.
func short(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q...", text[:80])
	}
	return fmt.Sprintf("%q", text)
}

// RefusalBody returns the refusal in the API's own form of an error.
func (a API) RefusalBody(r Refusal) []byte {
	var body any
	switch a {
	case Anthropic:
		body = map[string]any{"type": "error", "error": map[string]any{"type": anthropicType(r.Status), "message": r.Text}}
	case OpenAIResponses, OpenAIChat:
		body = map[string]any{"error": map[string]any{"message": r.Text, "type": "invalid_request_error", "param": nil, "code": r.Code}}
	case Google:
		body = map[string]any{"error": map[string]any{"code": r.Status, "message": r.Text, "status": googleStatus(r.Status)}}
	case Bedrock:
		body = map[string]any{"__type": "ValidationException", "message": r.Text}
	default:
		body = map[string]any{"error": r.Text, "code": r.Code}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings and numbers can always be written
	}
	return text
}

func anthropicType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

func googleStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	}
	if status >= http.StatusInternalServerError {
		return "UNAVAILABLE"
	}
	return "INVALID_ARGUMENT"
}
