package testmain

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	m.Run()
	fmt.Println("something was left over")
	os.Exit(1)
}

func TestFine(t *testing.T) {}
