package local

import (
	"reflect"
	"testing"

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
