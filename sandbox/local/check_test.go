package local

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// TestEveryLimitIsPositive takes each limit away in turn, by its field, so that a new one is not forgotten.
func TestEveryLimitIsPositive(t *testing.T) {
	good := Trial{}.Spec().Limits
	if err := checkLimits(good); err != nil {
		t.Error("limits that are good:", err)
	}
	fields := reflect.TypeFor[sandbox.Limits]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Workspace" || name == "WorkspaceFiles" {
			continue // the watcher's
		}
		for _, value := range []int64{0, -1} {
			bad := good
			reflect.ValueOf(&bad).Elem().Field(i).SetInt(value)
			if err := checkLimits(bad); err == nil {
				t.Errorf("%s %d was taken", name, value)
			}
		}
	}
}

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
