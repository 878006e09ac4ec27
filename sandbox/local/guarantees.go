package local

import (
	"fmt"

	"torno/delegation"
	"torno/sandbox"
)

// CheckGuarantees refuses a spec that demands a guarantee which is not enforced here (I3).
func CheckGuarantees(spec sandbox.Spec, enforced sandbox.Guarantees) error {
	missing := enforced.Missing(spec.AtLeast)
	if len(missing) == 0 {
		return nil
	}
	why := enforced[missing[0]].By
	if why == "" {
		why = "it is not known here"
	}
	return &delegation.Refusal{
		Code: delegation.CodeNotEnforced, Field: "profile",
		Text: fmt.Sprintf("Profile %s demands %s, which is not enforced here: %s", spec.Profile, missing[0], why),
		Hint: "choose another profile, or have the operator take it out of at_least",
	}
}
