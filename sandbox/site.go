package sandbox

import "fmt"

// ErrOtherSite says that another site answers under the name of a sandbox's site. It is an ErrUnavailable:
// nothing is known of the sandbox, and it may live on. Until the site is back, no other answer about the sandbox counts.
var ErrOtherSite = fmt.Errorf("%w: another site answers under its name", ErrUnavailable)

// On is an ErrOtherSite where the handle names another site than this one. A handle names none where the launcher did not know it.
func (h Handle) On(site string) error {
	if h.Site == "" || h.Site == site {
		return nil
	}
	return fmt.Errorf("sandbox %s is on site %q, and this is %q: %w", h.ID, h.Site, site, ErrOtherSite)
}
