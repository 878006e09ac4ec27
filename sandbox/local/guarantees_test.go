package local

import (
	"errors"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

func TestWhatIsNotEnforcedIsRefused(t *testing.T) {
	spec := sandbox.Spec{Profile: "p", AtLeast: []sandbox.GuaranteeKey{sandbox.NoNetwork, sandbox.SwapLimit}}
	enforced := sandbox.Guarantees{sandbox.NoNetwork: {Enforced: true}, sandbox.SwapLimit: {By: "a reason"}}
	var refusal *delegation.Refusal
	if err := CheckGuarantees(spec, enforced); !errors.As(err, &refusal) || refusal.Code != delegation.CodeNotEnforced || !strings.Contains(refusal.Text, "a reason") {
		t.Errorf("%v", err)
	}
	if err := CheckGuarantees(spec, nil); !errors.As(err, &refusal) || !strings.Contains(refusal.Text, "no_network") || refusal.Hint == "" {
		t.Errorf("%v", err)
	}
	enforced[sandbox.SwapLimit] = sandbox.Guarantee{Enforced: true}
	if err := CheckGuarantees(spec, enforced); err != nil {
		t.Error(err)
	}
}
