package inside

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// status reads /proc/PID/status.
func status(pid string) (s Status, err error) {
	content, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return s, err
	}
	s.Capabilities = make(map[string]uint64)
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if err := s.set(name, strings.TrimSpace(value)); err != nil {
			return s, fmt.Errorf("status of %s: %s: %w", pid, name, err)
		}
	}
	return s, nil
}

func (s *Status) set(name, value string) (err error) {
	switch name {
	case "Uid":
		s.Uids, err = numbers(value)
	case "Gid":
		s.Gids, err = numbers(value)
	case "Groups":
		s.Groups, err = numbers(value)
	case "NoNewPrivs":
		s.NoNewPrivs = value == "1"
	case "Seccomp":
		s.Seccomp, err = strconv.Atoi(value)
	case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
		s.Capabilities[strings.TrimPrefix(name, "Cap")], err = strconv.ParseUint(value, 16, 64)
	}
	return err
}

func numbers(text string) ([]int, error) {
	all := []int{}
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
