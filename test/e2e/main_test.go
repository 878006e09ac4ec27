package e2e

import (
	"os"
	"testing"

	"torno/test/house"
)

// TestMain has more stories told at once than there are processors, of those that say so: they mostly wait. What holds times against
// each other goes before them, alone.
func TestMain(m *testing.M) {
	house.AtOnce("4")
	os.Exit(house.Main(m))
}
