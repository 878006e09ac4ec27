package engine

import (
	"os"
	"testing"

	"torno/test/house"
)

// TestMain lets more stories be told at once than there are processors: they mostly wait.
func TestMain(m *testing.M) {
	house.AtOnce("4")
	os.Exit(house.Main(m))
}
