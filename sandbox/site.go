package sandbox

import "fmt"

// ErrOtherSite means that another site answers under the name of a sandbox's site. It is an ErrUnavailable: nothing is
// known about the sandbox, and it may live on. Until the right site is back, no other answer about the sandbox counts.
var ErrOtherSite = fmt.Errorf("%w: another site answers under its name", ErrUnavailable)

// On returns ErrOtherSite if the handle names another site than this one. A handle names no site if its launcher did
// not know it; then On returns nil.
func (h Handle) On(site string) error {
	if h.Site == "" || h.Site == site {
		return nil
	}
	return fmt.Errorf("sandbox %s is on site %q, but this is %q: %w", h.ID, h.Site, site, ErrOtherSite)
}
