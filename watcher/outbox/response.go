package outbox

import (
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// ResponseOf is a recorded end as the wire says it.
func ResponseOf(record journal.Run) delegation.Response {
	exit := -1
	if record.ExitCode != nil {
		exit = *record.ExitCode
	}
	resp := delegation.Response{
		Version: delegation.Version, SubagentID: RecordID(record), RequestID: record.Request.String(),
		Status: record.Reason.Wire(exit), ExitCode: exit, StdoutTail: record.StdoutTail, StderrTail: record.StderrTail,
		CompletedAt: record.Ended.UTC(), Reason: record.Reason, Error: record.Refusal(), Attempt: record.Attempt,
		StartedAt: record.Started.UTC(), Timings: record.Timings, Usage: record.Usage, Warnings: record.Warnings,
		Launcher: record.Launcher, Profile: record.Profile,
	}
	if resp.RequestID == "" {
		resp.RequestID = record.RequestText
	}
	if !record.Released.IsZero() {
		attested := record.Attestation != nil && record.Attestation.Attested
		resp.Attested = &attested
	}
	if record.Started.IsZero() {
		resp.StartedAt = time.Time{}
	}
	if text := hostText(record); text != "" {
		resp.StderrTail = text
	}
	return resp
}

// hostText is what the host has to say where the child has not: it travels as stderr_tail, as upstream does it.
func hostText(record journal.Run) string {
	switch {
	case record.Code != "":
		return record.Text
	case record.Reason == delegation.ReasonShutdown && record.StderrTail == "":
		return "The watcher was shut down before this run was done."
	}
	return ""
}

// RecordID is the id in the names of a record's files.
func RecordID(record journal.Run) string {
	if record.Subagent.IsZero() {
		return record.SubagentText
	}
	return record.Subagent.String()
}
