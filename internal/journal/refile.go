package journal

import (
	"context"

	"torno/delegation"
)

// Refile stores a new reading of a run's request: its client wrote the same request again, or the stamp has become old enough
// to be believed. It returns ErrMoved when the caller is wrong about whether the run has ended: the response to an ended run
// must look at the new file now, and the response to any other run comes later.
func (j *Journal) Refile(ctx context.Context, key string, read delegation.Reading, ended bool) error {
	return j.update(ctx, "note another file of", key, withKernel, refile, inodeColumn{&read.Stamp.Ino},
		stampColumn{&read.Stamp.ModTime}, stampColumn{&read.Stamp.ChangeTime}, read.Stamp.Size, rawColumn{&read.Content}, read.Firm, key, ended)
}

const refile = `UPDATE runs SET ino = ?, mtime = ?, ctime = ?, size = ?, content = ?, firm = ? WHERE key = ? AND (state = 'ended') = ?`
