package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"torno/delegation"
	"torno/manager"
)

// outcome describes how a child ended, with the beginning of its answer.
type outcome struct {
	ID       string            `json:"id"`
	Status   delegation.Status `json:"status"`
	Reason   delegation.Reason `json:"reason,omitempty"`
	ExitCode int               `json:"exit_code"`
	How      string            `json:"how"` // in words

	Answer    foreign `json:"untrusted_answer,omitzero"`
	AnswerNow int     `json:"answer_bytes_shown,omitempty"`
	AnswerAll int     `json:"answer_bytes,omitempty"` // bytes that read gives; with answer_cut the file has more
	Cut       bool    `json:"answer_cut,omitempty"`
	File      string  `json:"answer_file,omitempty"`
	Partial   bool    `json:"answer_partial,omitempty"`
	NotRead   foreign `json:"untrusted_answer_error,omitzero"`
	Stdout    foreign `json:"untrusted_stdout_end,omitzero"`
	Stderr    foreign `json:"untrusted_stderr_end,omitzero"`

	Next      string                 `json:"next,omitempty"`
	Warnings  []string               `json:"warnings,omitempty"`
	Workspace string                 `json:"workspace,omitempty"`
	Spent     *delegation.ModelUsage `json:"model_usage,omitempty"`
}

// outcomeOf describes the end of a run, with at most share bytes of the answer.
func outcomeOf(r manager.Result, share int) outcome {
	o := outcome{
		ID: r.SubagentID, Status: r.Status, Reason: r.Reason, ExitCode: r.ExitCode, How: words(r.Ending()),
		Partial: r.Partial, Workspace: words(r.Workspace), AnswerAll: len(r.Answer),
	}
	for _, warning := range r.Warnings {
		o.Warnings = append(o.Warnings, words(warning))
	}
	if r.Usage != nil {
		o.Spent = r.Usage.Model
	}
	o.Answer, o.AnswerNow = quote([]byte(r.Answer), share)
	if r.AnswerTruncated {
		o.Cut, o.File = true, words(r.AnswerWhole)
	}
	if o.AnswerNow < len(r.Answer) {
		o.Next = fmt.Sprintf("read {id: %q, what: \"answer\", from: %d} goes on", o.ID, o.AnswerNow)
	}
	if r.AnswerErr != nil {
		o.NotRead = quoteAll(r.AnswerErr.Error(), maxWords)
	}
	if r.Error != nil {
		o.Next = cmp.Or(words(r.Error.Hint), o.Next)
		return o // the tails only repeat the sentence of the refusal
	}
	if !r.Completed() {
		o.Stderr = quoteAll(r.StderrTail, maxTail)
	}
	if r.Answer == "" {
		o.Stdout = quoteAll(r.StdoutTail, maxTail)
	}
	return o
}

// maxTail bounds the quoted ends of a child's output, in bytes of JSON.
const maxTail = 4000

func (o outcome) say() string {
	var b strings.Builder
	fmt.Fprintf(&b, "subagent %s %s\n", o.ID, o.How)
	for _, warning := range o.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for _, part := range []struct {
		name string
		text foreign
	}{{"its answer", o.Answer}, {"why its answer was not read", o.NotRead}, {"the end of its standard output", o.Stdout}, {"the end of its standard error", o.Stderr}} {
		if part.text.text != "" {
			fmt.Fprintf(&b, "%s:\n%s", part.name, part.text.lines())
		}
	}
	if o.Next != "" {
		fmt.Fprintf(&b, "next: %s\n", o.Next)
	}
	return b.String()
}
