package delegation

import "fmt"

// Encode writes a response in its one spelling. The sentence of a refusal travels as stderr_tail, where clients of
// version 1 look, unless stderr_tail already says something.
func (r Response) Encode() ([]byte, error) {
	if r.Error != nil && r.StderrTail == "" {
		r.StderrTail = r.Error.Text
	}
	r.trim()
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return encode(r)
}

// DecodeResponse reads a response as hostile text: any process that can write into the outbox may have written it.
func DecodeResponse(data []byte) (Response, error) {
	var r Response
	err := decodeStrict(data, &r, "version", "subagent_id", "request_id", "status", "exit_code")
	if err == nil && r.SubagentID == "" {
		err = upstreamError("subagent_id must not be empty")
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Response{}, fmt.Errorf("decode response: %w", err)
	}
	r.trim()
	if r.Error != nil {
		r.Error.Text = r.StderrTail
	}
	return r, nil
}

func (r *Response) trim() {
	r.CompletedAt, r.StartedAt = wireTime(r.CompletedAt), wireTime(r.StartedAt)
}

// check uses the sentences of MassGen's protocol if it has any. It accepts an empty subagent_id, because the answer to
// a file named request_.json has one.
func (r Response) check() error {
	if r.Version != Version {
		return unsupported(r.Version)
	}
	switch r.Status {
	case StatusCompleted, StatusError, StatusTimeout, StatusCancelled:
	default:
		return upstreamError(fmt.Sprintf("Invalid delegation status: '%.100s'. "+
			"Must be one of: ['cancelled', 'completed', 'error', 'timeout']", r.Status))
	}
	if r.Error != nil && !isWord(string(r.Error.Code)) {
		return fmt.Errorf("error.code %.100q is no code", r.Error.Code)
	}
	return checkReason(r.Reason)
}
