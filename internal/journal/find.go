package journal

import "context"

// Named returns the newest run of the subagent of this name in each outbox, or in one; an entry that was refused without
// valid ids goes by the name that its file has. Newest first.
func (j *Journal) Named(ctx context.Context, outbox, name string) ([]Run, error) {
	raw := Run{SubagentText: name}
	return j.many(ctx, "look up a subagent", named, name, rawColumn{&raw.SubagentText}, outbox, outbox)
}

// It goes from each outbox to the next in the index, and to the last run of the subagent in each: what is asked for by
// name must not take longer with each run that there ever was.
const named = `WITH RECURSIVE boxes (name) AS (
		SELECT min(outbox) FROM runs
		UNION ALL SELECT (SELECT min(outbox) FROM runs WHERE outbox > name) FROM boxes WHERE name IS NOT NULL)
	SELECT seq, ` + columns + ` FROM runs WHERE seq IN (
		SELECT max(
			coalesce((SELECT max(seq) FROM runs WHERE outbox = name AND subagent = ?), 0),
			coalesce((SELECT max(seq) FROM runs WHERE outbox = name AND subagent = '' AND subagent_text = ?), 0))
		FROM boxes WHERE ? = '' OR name = ?)
	ORDER BY seq DESC`

// WithPrefix returns runs whose key begins so, at most limit. A prefix is hexadecimal, as keys are.
func (j *Journal) WithPrefix(ctx context.Context, prefix string, limit int) ([]Run, error) {
	return j.many(ctx, "look up a key", withPrefix, prefix, prefix, limit)
}

const withPrefix = `SELECT seq, ` + columns + ` FROM runs WHERE key >= ? AND key < ? || 'g' ORDER BY key LIMIT ?`
