package configs

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// checkUIDs warns of users, and of ranges of subordinate users, that have uids of ours. passwd and subuid are files in
// the forms of passwd(5) and subuid(5); a machine without one of them has no such users.
func (c *Config) checkUIDs(r *report, passwd, subuid string) {
	last := c.UIDs.First + c.UIDs.Count // the sandbox in slot n, counted from 1, has First+n
	eachRecord(passwd, func(name string, fields []string) {
		if len(fields) < 2 {
			return
		}
		if uid, err := strconv.ParseInt(fields[1], 10, 64); err == nil && uid >= c.UIDs.First && uid <= last {
			r.warn("uids", "user %s has uid %d, which is in the range of the sandboxes", name, uid)
		}
	})
	eachRecord(subuid, func(name string, fields []string) {
		if len(fields) < 2 {
			return
		}
		first, err := strconv.ParseInt(fields[0], 10, 64)
		count, errCount := strconv.ParseInt(fields[1], 10, 64)
		if err == nil && errCount == nil && first <= last && first+count > c.UIDs.First {
			r.warn("uids", "%s of %s, %d to %d, is in the range of the sandboxes", subuid, name, first, first+count-1)
		}
	})
}

// eachRecord goes over lines of fields with colons between them.
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
