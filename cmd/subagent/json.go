package main

import (
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
)

// These are the shapes of --json. Field names are API: we add fields, but never rename them.

// spawned is the output of spawn without --wait.
type spawned struct {
	SubagentID string `json:"subagent_id"`
	RequestID  string `json:"request_id"`
	Workspace  string `json:"workspace"`
	Outbox     string `json:"outbox"`
}

// ended is the output for a result.
type ended struct {
	SubagentID      string                `json:"subagent_id"`
	RequestID       string                `json:"request_id"`
	Status          delegation.Status     `json:"status"`
	Reason          delegation.Reason     `json:"reason,omitempty"`
	ExitCode        int                   `json:"exit_code"` // the child's
	Exit            int                   `json:"exit"`      // this command's
	Answer          string                `json:"answer"`
	AnswerFrom      manager.AnswerFrom    `json:"answer_from,omitempty"`
	AnswerTruncated bool                  `json:"answer_truncated,omitempty"`
	AnswerWhole     string                `json:"answer_whole,omitempty"`
	AnswerError     string                `json:"answer_error,omitempty"`
	Partial         bool                  `json:"partial,omitempty"`
	StdoutTail      string                `json:"stdout_tail"`
	StderrTail      string                `json:"stderr_tail"`
	Error           *cli.Trouble          `json:"error,omitempty"`
	Warnings        []string              `json:"warnings,omitempty"`
	Attempt         int                   `json:"attempt,omitempty"`
	StartedAt       time.Time             `json:"started_at,omitzero"`
	CompletedAt     time.Time             `json:"completed_at,omitzero"`
	Timings         *delegation.Timings   `json:"timings_ms,omitempty"`
	Usage           *delegation.Usage     `json:"usage,omitempty"`
	Workspace       string                `json:"workspace"`
	Profile         string                `json:"profile,omitempty"`
	SessionID       string                `json:"session_id,omitempty"`
	Artifacts       []delegation.Artifact `json:"artifacts,omitempty"`
	TakenAt         time.Time             `json:"taken_at,omitzero"`
}

func endedOf(r manager.Result) ended {
	e := ended{
		SubagentID: r.SubagentID, RequestID: r.RequestID, Status: r.Status, Reason: r.Reason,
		ExitCode: r.ExitCode, Exit: exitCode(r),
		Answer: r.Answer, AnswerFrom: r.AnswerFrom, AnswerTruncated: r.AnswerTruncated, AnswerWhole: r.AnswerWhole, Partial: r.Partial,
		StdoutTail: r.StdoutTail, StderrTail: r.StderrTail,
		Warnings: r.Warnings, Attempt: r.Attempt, StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
		Timings: r.Timings, Usage: r.Usage, Workspace: r.Workspace, Profile: r.Profile, SessionID: r.SessionID, Artifacts: r.Artifacts, TakenAt: r.TakenAt,
	}
	if r.AnswerErr != nil {
		e.AnswerError = r.AnswerErr.Error()
	}
	if r.Error != nil {
		e.Error = &cli.Trouble{Code: string(r.Error.Code), Field: r.Error.Field, Text: r.Error.Text, Next: r.Error.Hint}
	}
	return e
}

// listed is the output of list for one child.
type listed struct {
	SubagentID     string            `json:"subagent_id"`
	RequestID      string            `json:"request_id"`
	State          delegation.State  `json:"state,omitempty"`
	Position       int               `json:"position,omitempty"`
	Status         delegation.Status `json:"status,omitempty"`
	Reason         delegation.Reason `json:"reason,omitempty"`
	ExitCode       *int              `json:"exit_code,omitempty"`
	Usage          *delegation.Usage `json:"usage,omitempty"`
	ParentID       string            `json:"parent_id,omitempty"`
	Depth          int               `json:"depth,omitempty"`
	Task           string            `json:"task"`
	Workspace      string            `json:"workspace"`
	TimeoutSeconds int               `json:"timeout_seconds"`
	CreatedAt      time.Time         `json:"created_at"`
	RunningSince   time.Time         `json:"running_since,omitzero"`
	Deadline       time.Time         `json:"deadline,omitzero"`

	Approvals []delegation.PendingApproval `json:"approvals,omitempty"`
}

func listedOf(i manager.Item) listed {
	l := listed{
		SubagentID: i.SubagentID, RequestID: i.RequestID, State: i.State, Position: i.Position,
		Status: i.Status, Reason: i.Reason, Usage: i.Usage, ParentID: i.ParentID, Depth: i.Depth, Task: i.Task, Workspace: i.Workspace,
		TimeoutSeconds: int(i.Timeout / time.Second),
		CreatedAt:      i.CreatedAt, RunningSince: i.RunningSince, Deadline: i.Deadline, Approvals: i.Approvals,
	}
	if i.Status != "" {
		l.ExitCode = &i.ExitCode
	}
	return l
}
