package delegation

import "fmt"

// maxHeartbeatSeconds keeps three heartbeats far from any overflow.
const maxHeartbeatSeconds = 24 * 60 * 60

// Encode writes a heartbeat in its one spelling.
func (h Heartbeat) Encode() ([]byte, error) {
	h.trim()
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
	h.trim()
	return h, nil
}

func (h *Heartbeat) trim() {
	h.StartedAt, h.BeatAt, h.Notices = wireTime(h.StartedAt), wireTime(h.BeatAt), h.Notices.tidy()
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
