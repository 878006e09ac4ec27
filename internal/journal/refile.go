package journal

import (
	"context"

	"torno/delegation"
)

// Refile stores a new reading of a run's request, because its client wrote the same request again, or because the stamp
// is now old enough to be trusted. ended tells whether the caller believes that the run has ended. If the caller is
// wrong, Refile returns ErrMoved: for an ended run, the response must be checked against the new file now; for any
// other run, the response comes later.
func (j *Journal) Refile(ctx context.Context, key string, read delegation.Reading, ended bool) error {
	return j.update(ctx, "note a new request file of", key, withKernel, refile, inodeColumn{&read.Stamp.Ino},
		stampColumn{&read.Stamp.ModTime}, stampColumn{&read.Stamp.ChangeTime}, read.Stamp.Size, rawColumn{&read.Content}, read.Firm, key, ended)
}

const refile = `UPDATE runs SET ino = ?, mtime = ?, ctime = ?, size = ?, content = ?, firm = ? WHERE key = ? AND (state = 'ended') = ?`
