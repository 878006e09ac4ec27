package agent

import (
	"errors"
	"fmt"
)

// An agent's session is everything that it needs to continue a conversation in another sandbox. Its adapter packs the
// session into a bundle, and sends the bundle in parts, each in a line of the kind Session. To the host a bundle is
// only bytes: the host stores it, hands it back to the same subagent, and never looks inside. A later bundle of a run
// replaces the earlier one once its last part has come.
const (
	MaxBundle  = 4 << 20  // bytes of one bundle
	MaxPart    = 11 << 10 // bytes of one part: in base64 it fits into a line
	MaxBundles = 64       // per run
	maxVersion = 64
)

// Part is a part of a bundle. The parts of one bundle follow each other without a gap.
type Part struct {
	Bundle int    `json:"bundle"` // the number of the bundle in its run, from 1
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	// Last marks the bundle's last part. Version is the agent's version; only the last part has one.
	Last    bool   `json:"last,omitempty"`
	Version string `json:"version,omitempty"`
}

func (p *Part) check() error {
	switch {
	case p.Bundle < 1 || p.Bundle > MaxBundles:
		return fmt.Errorf("a bundle's number is %d; it must be 1 to %d", p.Bundle, MaxBundles)
	case len(p.Data) == 0 || len(p.Data) > MaxPart:
		return fmt.Errorf("a part of %d bytes is empty or longer than %d", len(p.Data), MaxPart)
	case p.Offset < 0 || p.Offset > MaxBundle-int64(len(p.Data)):
		return fmt.Errorf("a part at %d is not within the %d bytes of a bundle", p.Offset, MaxBundle)
	case len(p.Version) > maxVersion || p.Version != "" && !p.Last:
		return errors.New("a version is too long, or comes before the last part")
	}
	for _, c := range []byte(p.Version) {
		if c < '!' || c > '~' {
			return errors.New("a version has something other than printable characters")
		}
	}
	return nil
}
