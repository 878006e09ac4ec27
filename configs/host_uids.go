package configs

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// TakenUIDs returns this machine's users, and its ranges of subordinate users, whose uids lie in the sandboxes' range.
func (c Config) TakenUIDs() (users, ranges []string) {
	return c.takenUIDs("/etc/passwd", "/etc/subuid")
}

// takenUIDs reads files in the formats of passwd(5) and subuid(5). A missing file counts as empty.
func (c *Config) takenUIDs(passwd, subuid string) (users, ranges []string) {
	last := c.UIDs.Last()
	eachRecord(passwd, func(name string, fields []string) {
		if len(fields) < 2 {
			return
		}
		if uid, err := strconv.ParseInt(fields[1], 10, 64); err == nil && uid >= c.UIDs.First && uid <= last {
			users = append(users, fmt.Sprintf("user %s has uid %d", name, uid))
		}
	})
	eachRecord(subuid, func(name string, fields []string) {
		if len(fields) < 2 {
			return
		}
		first, err := strconv.ParseInt(fields[0], 10, 64)
		count, errCount := strconv.ParseInt(fields[1], 10, 64)
		if err == nil && errCount == nil && first <= last && first+count > c.UIDs.First {
			ranges = append(ranges, fmt.Sprintf("%s of %s, %d to %d", subuid, name, first, first+count-1))
		}
	})
	return users, ranges
}

// checkUIDs warns of the users and ranges that takenUIDs finds.
func (c *Config) checkUIDs(r *report, passwd, subuid string) {
	users, ranges := c.takenUIDs(passwd, subuid)
	for _, user := range users {
		r.warn("uids", "%s, which is in the range of the sandboxes", user)
	}
	for _, ids := range ranges {
		r.warn("uids", "%s, is in the range of the sandboxes", ids)
	}
}

// eachRecord calls each for every line of a file, with the line's fields. Colons separate the fields.
func eachRecord(path string, each func(name string, fields []string)) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if ok {
			each(name, strings.Split(rest, ":"))
		}
	}
}
