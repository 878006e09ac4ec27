package clients

import (
	"os"
	"testing"

	"torno/test/house"
)

func TestMain(m *testing.M) { os.Exit(house.Main(m)) }
