package sandboxtest_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The cases wait for the time of their agents, not for a processor: more of them at once than there are processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}
