package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"torno/delegation"
	"torno/sandbox"
)

// Compile turns a request into a Spec that can be launched, under the policy of the request's outbox. It is pure: it
// looks at no file. The warnings tell about adjustments and harmless omissions; they go into the response. The error is
// always a *delegation.Refusal.
//
// The checks have a fixed order, so that a request with several faults always gets the same answer: the workspace, the
// answer file, the context, the paths in yaml_config, the profile, and then everything that depends on the profile.
func Compile(req delegation.Request, p Policy) (sandbox.Spec, []string, error) {
	c := &compiler{req: req, policy: p}
	passes := []func() *delegation.Refusal{
		c.findWorkspace, c.findAnswer, c.findContext, c.checkRunConfig, c.chooseProfile,
		c.layMounts, c.setTimeout, c.buildProcess,
	}
	for _, pass := range passes {
		if refusal := pass(); refusal != nil {
			return sandbox.Spec{}, nil, refusal
		}
	}
	if more := c.adjusted - mostAdjusted; more > 0 {
		c.warn("%d more context paths were adjusted", more)
	}
	return c.spec, c.warnings, nil
}

// compiler holds the results of the passes. Each pass reads the results of earlier passes.
type compiler struct {
	req    delegation.Request
	policy Policy

	workspace askedPath
	context   []askedPath
	profile   Profile
	settings  []byte // of the agent, nil if the request has none
	spec      sandbox.Spec
	warnings  []string
	adjusted  int // context paths
}

func (c *compiler) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// mostAdjusted bounds the warnings about context paths: the journal keeps them as long as the request lies in the outbox.
const mostAdjusted = 8

func (c *compiler) warnOfContext(format string, args ...any) {
	if c.adjusted++; c.adjusted <= mostAdjusted {
		c.warn(format, args...)
	}
}

// chooseProfile takes the profile that the request names, or the first profile on offer.
func (c *compiler) chooseProfile() *delegation.Refusal {
	name := c.req.Profile.String()
	profile, ok := c.policy.Profile(name)
	if !ok {
		return &delegation.Refusal{
			Code: delegation.CodeProfile, Field: "profile",
			Text: "Profile is not on offer: " + shown(name), Hint: c.policy.offers(name),
		}
	}
	c.profile = profile
	c.spec.Profile, c.spec.RootFS = profile.Name, profile.RootFS
	c.spec.Artifacts = slices.Clone(profile.Artifacts)
	c.spec.Limits, c.spec.AtLeast = profile.Limits, slices.Clone(profile.AtLeast)
	c.spec.Sockets, c.spec.Owners, c.spec.Door = slices.Clone(profile.Sockets), slices.Clone(c.policy.Owners), profile.Door
	return nil
}

// setTimeout moves the request's timeout into the profile's bounds.
func (c *compiler) setTimeout() *delegation.Refusal {
	bounds, asked := c.profile.Timeout, c.req.TimeoutSeconds
	timeout := seconds(asked)
	switch {
	case asked <= 0:
		timeout = bounds.Default
	case bounds.Max > 0 && timeout > bounds.Max:
		timeout = bounds.Max
		c.warn("timeout_seconds %d is more than profile %s allows; it is %s", asked, c.profile.Name, timeout)
	case timeout < bounds.Min:
		timeout = bounds.Min
		c.warn("timeout_seconds %d is less than profile %s allows; it is %s", asked, c.profile.Name, timeout)
	}
	c.spec.Timeout, c.spec.Attempts, c.spec.Approvals = timeout, c.profile.Attempts, c.profile.Approvals
	return nil
}

// seconds returns a number of seconds as a duration, without overflow.
func seconds(n int) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(int64(n), most)) * time.Second
}

// shown makes a stranger's text fit to stand in a sentence. It leaves short printable text unchanged.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(atMost(text, 128))
	}
	return atMost(text, 512)
}

func atMost(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
