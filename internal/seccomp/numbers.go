package seccomp

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// numbersText holds the numbers for both architectures, whichever this program was built for.
//
//go:embed numbers.txt
var numbersText string

// columns says which column of numbers.txt belongs to an architecture.
var columns = map[string]int{"amd64": 1, "arm64": 2}

// numbersOf returns the numbers of an architecture's calls, by name.
func numbersOf(arch string) (map[string]uint32, error) {
	column, ok := columns[arch]
	if !ok {
		return nil, unknownArch(arch)
	}
	all := map[string]uint32{}
	for line := range strings.Lines(numbersText) {
		fields := strings.Fields(line)
		if fields[0] == "#" || fields[column] == "-" {
			continue
		}
		number, err := strconv.ParseUint(fields[column], 10, 16)
		if err != nil {
			return nil, fmt.Errorf("numbers of system calls: %s: %w", fields[0], err)
		}
		all[fields[0]] = uint32(number)
	}
	return all, nil
}

func unknownArch(arch string) error {
	return fmt.Errorf("there is no system call filter for %s; it is written for amd64 and arm64", arch)
}
