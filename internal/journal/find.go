package journal

import "context"

// Named returns the newest run of the named subagent in each outbox, or in the given outbox, newest first. An entry
// that was refused without valid ids is found by the id in its file's name.
func (j *Journal) Named(ctx context.Context, outbox, name string) ([]Run, error) {
	raw := Run{SubagentText: name}
	return j.many(ctx, "look up a subagent", named, name, rawColumn{&raw.SubagentText}, outbox, outbox)
}

// The query jumps in the index from each outbox to the next, and in each to the last run of the subagent. So its time
// does not grow with the number of runs.
const named = `WITH RECURSIVE boxes (name) AS (
		SELECT min(outbox) FROM runs
		UNION ALL SELECT (SELECT min(outbox) FROM runs WHERE outbox > name) FROM boxes WHERE name IS NOT NULL)
	SELECT seq, ` + columns + ` FROM runs WHERE seq IN (
		SELECT max(
			coalesce((SELECT max(seq) FROM runs WHERE outbox = name AND subagent = ?), 0),
			coalesce((SELECT max(seq) FROM runs WHERE outbox = name AND subagent = '' AND subagent_text = ?), 0))
		FROM boxes WHERE ? = '' OR name = ?)
	ORDER BY seq DESC`

// WithPrefix returns at most limit runs whose key begins with prefix. A prefix is hexadecimal, as keys are.
func (j *Journal) WithPrefix(ctx context.Context, prefix string, limit int) ([]Run, error) {
	return j.many(ctx, "look up a key", withPrefix, prefix, prefix, limit)
}

const withPrefix = `SELECT seq, ` + columns + ` FROM runs WHERE key >= ? AND key < ? || 'g' ORDER BY key LIMIT ?`
