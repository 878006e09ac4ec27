package delegation

import (
	"fmt"
	"slices"
)

// Encode writes a status in its one spelling.
func (s RunStatus) Encode() ([]byte, error) {
	s.trim()
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return encode(s)
}

// DecodeRunStatus reads a status as hostile text.
func DecodeRunStatus(data []byte) (RunStatus, error) {
	var s RunStatus
	err := decodeStrict(data, &s, "version", "subagent_id", "request_id", "state", "updated_at")
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return RunStatus{}, fmt.Errorf("decode status: %w", err)
	}
	s.trim()
	return s, nil
}

func (s *RunStatus) trim() {
	s.RunningSince, s.Deadline, s.UpdatedAt = wireTime(s.RunningSince), wireTime(s.Deadline), wireTime(s.UpdatedAt)
	if s.Input != nil && len(s.Input.Refused) == 0 {
		s.Input.Refused = nil
	}
	s.Approvals = slices.Clone(s.Approvals)
	for i := range s.Approvals {
		a := &s.Approvals[i]
		a.AskedAt, a.ExpiresAt = wireTime(a.AskedAt), wireTime(a.ExpiresAt)
	}
}

func (s RunStatus) check() error {
	if s.Version != Version {
		return unsupported(s.Version)
	}
	if _, err := ParseSubagentID(s.SubagentID); err != nil {
		return err
	}
	switch s.State {
	case StateQueued, StateStarting, StateRunning, StateWaiting, StateEnded:
	default:
		return fmt.Errorf("state %.100q is none", s.State)
	}
	if err := s.Input.check(); err != nil {
		return err
	}
	if s.ParentID != "" {
		if _, err := ParseSubagentID(s.ParentID); err != nil {
			return err
		}
	}
	if s.Depth < 0 {
		return fmt.Errorf("depth %d is none", s.Depth)
	}
	if err := checkPending(s.Approvals); err != nil {
		return err
	}
	return checkReason(s.Reason)
}
