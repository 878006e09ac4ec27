// Program precompile prints, as runsc's filters.go, the filters of gVisor's own kernel, compiled by gVisor for the processor
// it runs on: of systrap without a network and without devices, with directfs and without.
package main

import (
	"fmt"
	"os"
	"strings"

	"gvisor.dev/gvisor/runsc/boot/filter/config"
)

func main() {
	programs, err := config.PrecompiledPrograms()
	if err != nil {
		fmt.Fprintln(os.Stderr, "precompile:", err)
		os.Exit(1)
	}
	fmt.Print(header)
	found := 0
	for _, p := range programs {
		if wanted(p.Name) {
			found++
			fmt.Printf("\t\t%s,\n", p.Expr("\t\t", "precompiledseccomp"))
		}
	}
	fmt.Print("\t}\n}\n")
	if found != 2 {
		fmt.Fprintf(os.Stderr, "precompile: %d of gVisor's filters have the names that were expected, and not 2\n", found)
		os.Exit(1)
	}
}

const header = `package main

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

func compiledFilters() []precompiledseccomp.Program {
	return []precompiledseccomp.Program{
`

// wanted is whether a filter, by the settings in its name, is one that sandboxes here have.
func wanted(name string) bool {
	for _, setting := range []string{`Platform="systrap" `, "HostNetwork=false ", "NVProxy=false ", "TPUProxy=false ", "RDMAProxy=false "} {
		if !strings.Contains(name, setting) {
			return false
		}
	}
	return true
}
