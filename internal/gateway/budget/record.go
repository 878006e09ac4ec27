package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"torno/internal/strictjson"
)

// version is the version of the ledger's format. Lines of the first version can be read too; they have no opDay.
const (
	firstVersion = 1
	version      = 2
)

// operation is the kind of a line of the ledger.
type operation string

const (
	opBegin   operation = "begin"   // a process opened the ledger: reservations before it count as spent
	opEnd     operation = "end"     // that process closed the ledger: all earlier lines are on the disk
	opReserve operation = "reserve" // before the request leaves
	opSettle  operation = "settle"  // the real cost
	opSpent   operation = "spent"   // sets the cost of a scope, and what it may cost ahead
	opForget  operation = "forget"
	opDay     operation = "day" // the current day changed, also to an earlier one after the clock was set back
)

// key is a scope, with the day if the scope has a budget for each day.
type key struct {
	Scope
	Day int64 `json:"day,omitempty"`
}

// record is a line of the ledger.
type record struct {
	Op      operation `json:"op"`
	Version int       `json:"version,omitempty"`
	Boot    string    `json:"boot,omitempty"`
	Day     int64     `json:"day,omitempty"`
	ID      uint64    `json:"id,omitempty"`
	Of      []key     `json:"of,omitempty"`
	Amount  Amount    `json:"amount,omitzero"`
	Ahead   []ahead   `json:"ahead,omitempty"`
}

// ahead is the amount that a scope may cost until another line that raises it is on the disk.
type ahead struct {
	key
	Amount Amount `json:"amount"`
}

// flushed reports whether the ledger waits until the line is on the disk.
func (r *record) flushed() bool { return r.isMark() || len(r.Ahead) > 0 }

// isMark reports whether all earlier lines were on the disk when this one was written.
func (r *record) isMark() bool { return r.Op == opBegin || r.Op == opEnd }

// provesFlush reports whether the lines before this readable line were on the disk. A line that is only flushed itself
// proves it only if the ledger went on after it.
func (r *record) provesFlush(wentOn bool) bool { return r.isMark() || r.flushed() && wentOn }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumSize is the length of a line's start: the checksum in hexadecimal and a space.
const sumSize = 9

// encode appends a line to to: checksum, space, JSON, line feed.
func encode(to []byte, r record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(to, "%08x %s\n", crc32.Checksum(body, castagnoli), body), nil
}

// errTorn means that a line was changed after it was written, or only partly written.
var errTorn = errors.New("its checksum does not fit its text")

// decode reads a line without its line feed.
func decode(line []byte) (r record, err error) {
	if len(line) < sumSize || line[sumSize-1] != ' ' {
		return r, errTorn
	}
	want, err := strconv.ParseUint(string(line[:sumSize-1]), 16, 32)
	if err != nil || crc32.Checksum(line[sumSize:], castagnoli) != uint32(want) {
		return r, errTorn
	}
	if err := strictjson.Decode(line[sumSize:], &r); err != nil {
		return r, fmt.Errorf("this program does not know such a line: %w", err)
	}
	negative := r.Amount.vector().negative()
	for _, a := range r.Ahead {
		negative = negative || a.Amount.vector().negative()
	}
	if negative {
		return r, errors.New("it has a negative number")
	}
	return r, nil
}
