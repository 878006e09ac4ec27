package engine

import (
	"flag"
	"os"
	"testing"

	"torno/test/house"
)

// TestMain lets more stories be told at once than there are processors: they mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(house.Main(m))
}
