package story

import "testing"

// TestStory has a step that fails only behind the step before it.
func TestStory(t *testing.T) {
	told := false
	t.Run("told", func(t *testing.T) { told = true })
	t.Run("heard", func(t *testing.T) {
		if told {
			t.Error("red each time")
		}
	})
}
