package delegation

import (
	"fmt"
	"strings"
	"time"
)

// Encode writes a response in its one spelling. The sentence of a refusal travels as stderr_tail, which is where
// clients of version 1 look, unless that already says something.
func (r Response) Encode() ([]byte, error) {
	if r.Error != nil && r.StderrTail == "" {
		r.StderrTail = r.Error.Text
	}
	r.CompletedAt, r.StartedAt = wireTime(r.CompletedAt), wireTime(r.StartedAt)
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return encode(r)
}

// DecodeResponse reads a response as hostile text: whoever can write into the outbox may have written it.
func DecodeResponse(data []byte) (Response, error) {
	var r Response
	err := decodeStrict(data, &r, "version", "subagent_id", "request_id", "status", "exit_code")
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Response{}, fmt.Errorf("decode response: %w", err)
	}
	if r.Error != nil {
		r.Error.Text = r.StderrTail
	}
	return r, nil
}

// check has the texts of MassGen's protocol where that has one.
func (r Response) check() error {
	if err := checkHead(r.Version, r.SubagentID); err != nil {
		return err
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

// Encode writes a status in its one spelling.
func (s RunStatus) Encode() ([]byte, error) {
	s.RunningSince, s.Deadline, s.UpdatedAt = wireTime(s.RunningSince), wireTime(s.Deadline), wireTime(s.UpdatedAt)
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
	return s, nil
}

func (s RunStatus) check() error {
	if err := checkHead(s.Version, s.SubagentID); err != nil {
		return err
	}
	switch s.State {
	case StateQueued, StateStarting, StateRunning, StateWaiting, StateEnded:
	default:
		return fmt.Errorf("state %.100q is none", s.State)
	}
	return checkReason(s.Reason)
}

// Encode writes a heartbeat in its one spelling.
func (h Heartbeat) Encode() ([]byte, error) {
	h.StartedAt, h.BeatAt = wireTime(h.StartedAt), wireTime(h.BeatAt)
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("encode heartbeat: %w", err)
	}
	return encode(h)
}

// DecodeHeartbeat reads a heartbeat as hostile text.
func DecodeHeartbeat(data []byte) (Heartbeat, error) {
	var h Heartbeat
	err := decodeStrict(data, &h, "version", "protocol", "beat_at", "heartbeat_seconds")
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return Heartbeat{}, fmt.Errorf("decode heartbeat: %w", err)
	}
	return h, nil
}

func (h Heartbeat) check() error {
	if h.Version != Version {
		return unsupported(h.Version)
	}
	if h.HeartbeatSeconds < 1 || h.HeartbeatSeconds > maxHeartbeatSeconds {
		return fmt.Errorf("heartbeat_seconds must be from 1 to %d, got %d", maxHeartbeatSeconds, h.HeartbeatSeconds)
	}
	for _, profile := range h.Profiles {
		if _, err := ParseToken(profile.Name); err != nil {
			return fmt.Errorf("the name of a profile %w", err)
		}
	}
	return nil
}

// maxHeartbeatSeconds keeps three heartbeats far from any overflow.
const maxHeartbeatSeconds = 24 * 60 * 60

// Serving says whether the watcher that wrote this heartbeat can be taken to be there: it has not said that it stops,
// and three heartbeats have not gone by since.
func (h Heartbeat) Serving(now time.Time) bool {
	return !h.Stopping && now.Sub(h.BeatAt) <= 3*time.Duration(h.HeartbeatSeconds)*time.Second
}

// Offers says whether a feature is in the heartbeat's list.
func (h Heartbeat) Offers(feature string) bool {
	for _, f := range h.Features {
		if f == feature {
			return true
		}
	}
	return false
}

// upstreamError is a sentence of MassGen's protocol, capital letters and all.
type upstreamError string

func (e upstreamError) Error() string { return string(e) }

func checkHead(version int, subagentID string) error {
	if version != Version {
		return unsupported(version)
	}
	if subagentID == "" {
		return upstreamError("subagent_id must not be empty")
	}
	return nil
}

func unsupported(version int) error {
	return upstreamError(fmt.Sprintf("Unsupported delegation protocol version: %d (expected %d)", version, Version))
}

func checkReason(reason Reason) error {
	if reason != "" && !isWord(string(reason)) {
		return fmt.Errorf("reason %.100q is none", reason)
	}
	return nil
}

// isWord accepts what a code or a reason looks like. Newer watchers may have more of them than this package knows.
func isWord(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// wireTime is a time as the wire has it: UTC, in microseconds, which Python can read.
func wireTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Microsecond)
}
