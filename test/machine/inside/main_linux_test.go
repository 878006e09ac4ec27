package inside

import (
	"fmt"
	"os"
	"testing"

	"torno/test/house"
)

// TestMain runs nothing elsewhere than on a machine of package machine, whose process 1 is known by its name.
func TestMain(m *testing.M) {
	if name, err := os.ReadFile("/proc/1/comm"); err != nil || string(name) != "guest\n" || os.Getpid() == 1 {
		fmt.Println("NOT SHOWN HERE: package machine runs these tests, on a machine of their own")
		return
	}
	os.Exit(house.Main(m))
}
