package journal

import "context"

// Named returns the newest run of the subagent of this name in each outbox, or in one; an entry that was refused without
// valid ids goes by the name that its file has. Newest first.
func (j *Journal) Named(ctx context.Context, outbox, name string) ([]Run, error) {
	raw := Run{SubagentText: name}
	return j.many(ctx, "look up a subagent", named, outbox, outbox, name, name, rawColumn{&raw.SubagentText})
}

// The list of outboxes makes the index of subagents usable without naming one.
const named = `SELECT seq, ` + columns + ` FROM runs WHERE seq IN (
		SELECT max(seq) FROM runs
		WHERE outbox IN (SELECT DISTINCT outbox FROM runs WHERE ? = '' OR outbox = ?)
			AND subagent IN (?, '') AND (subagent = ? OR subagent_text = ?)
		GROUP BY outbox)
	ORDER BY seq DESC`

// WithPrefix returns runs whose key begins so, at most limit. A prefix is hexadecimal, as keys are.
func (j *Journal) WithPrefix(ctx context.Context, prefix string, limit int) ([]Run, error) {
	return j.many(ctx, "look up a key", withPrefix, prefix, prefix, limit)
}

const withPrefix = `SELECT seq, ` + columns + ` FROM runs WHERE key >= ? AND key < ? || 'g' ORDER BY key LIMIT ?`
