package sandbox

import "fmt"

// ErrOtherEngine says that another engine answers under the name of a sandbox's engine. It is an ErrUnavailable:
// nothing is known of the sandbox, and it may live on. Until the engine is back, no other answer about the sandbox counts.
var ErrOtherEngine = fmt.Errorf("%w: another engine answers under its name", ErrUnavailable)

// On is an ErrOtherEngine where the handle names another engine than this one. A handle of an earlier version names none.
func (h Handle) On(engine string) error {
	if h.Engine == "" || h.Engine == engine {
		return nil
	}
	return fmt.Errorf("sandbox %s is on engine %q, and this is %q: %w", h.ID, h.Engine, engine, ErrOtherEngine)
}
