// Program is the stand-in for MassGen as a program of its own. Tests build it, and have package massgen put it where people have MassGen: in an
// environment of Python's, which children are given whole.
package main

import (
	"os"

	"torno/test/massgen"
)

func main() { os.Exit(massgen.Main(os.Args)) }
