package outbox

import (
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/internal/retry"
	"torno/sandbox"
	"torno/sandbox/compile"
)

// TakeUp makes an admission of a released run's record, from the request as it is now. The reason is why it must end, "" when it may go on.
// The admission's Spec is for a next attempt, and says how questions are decided; the run itself goes by the record's Terms. over says that its
// sandbox has ended by itself: no policy ends that.
func (o *Outbox) TakeUp(record journal.Run, over bool) (a *Admission, reason delegation.Reason) {
	in, reason := o.StillAsked(record)
	in.descent = record.Descent
	spec := sandbox.Spec{Profile: record.Profile, Mounts: []sandbox.Mount{{Target: record.Workspace, Workspace: true}}}
	if reason != "" {
		return o.Admission(record.RunKey(), in, spec, record.Warnings), reason
	}
	allowed, reason, why := o.stillAllows(record, in)
	switch {
	case reason == "":
		spec = allowed
	case reason == delegation.ReasonOperator && over:
		reason = ""
	default:
		record.Warnings = append(record.Warnings, why)
	}
	return o.Admission(record.RunKey(), in, spec, record.Warnings), reason
}

// stillAllows compiles the request of a released run anew. The reason is why the run must end, "" when the policy still allows it; why says so
// in a sentence.
func (o *Outbox) stillAllows(record journal.Run, in Intake) (spec sandbox.Spec, reason delegation.Reason, why string) {
	in.Request.Profile, _ = delegation.ParseToken(record.Profile)  // an operator's name that is no token is the default's
	spec, _, err := compile.Compile(in.Request, o.Settings.Policy) // what it warns of is in the record
	at := record.Handle.Workspace
	switch {
	case err != nil:
		return spec, delegation.ReasonOperator, "The watcher was started again and does not allow this run any more: " + err.Error()
	case at == "" || at == spec.WorkspacePath():
		return spec, "", ""
	case in.read.Content == record.Content:
		return spec, delegation.ReasonOperator, "The watcher was started again, and the policy has the workspace of this run in another directory now."
	}
	return spec, delegation.ReasonSuperseded, "The request was changed while no watcher was there, and asks for another workspace now."
}

// StillAsked reads the request of a record once more, as hostile as ever. The reason is why no client waits for the run any
// more, "" when its client does. The same request may lie in another file by now.
func (o *Outbox) StillAsked(record journal.Run) (in Intake, reason delegation.Reason) {
	in = Intake{name: record.FileName, read: record.Reading(), seen: record.Created}
	data, read, err := o.readSettled(record.FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return in, delegation.ReasonClientGone
	}
	request, decodeErr := delegation.DecodeRequest(data)
	if err != nil || decodeErr != nil || request.SubagentID != record.Subagent || request.RequestID != record.Request {
		return in, delegation.ReasonSuperseded
	}
	in.read, in.data, in.Request = read, data, request
	return in, ""
}

// settleTries bounds how often a request that is in doubt is read again: its writer may be at work, or this process short
// of something for a moment.
const settleTries = 5

// readSettled reads a request, again where it does not tell yet what it is.
func (o *Outbox) readSettled(name string) (data []byte, read delegation.Reading, err error) {
	for try := 1; ; try++ {
		data, read, err = o.Dir.ReadRequest(name, o.Settings.MaxRequestBytes)
		doubtful := err != nil && delegation.RefuseEntry(name, err) == nil && !errors.Is(err, fs.ErrNotExist)
		if err == nil {
			_, unread := delegation.DecodeRequest(data)
			doubtful = unread != nil && time.Since(read.Stamp.ModTime).Abs() < settle
		}
		if !doubtful || try == settleTries {
			return data, read, err
		}
		_ = retry.Pause(o.Life, settle/2)
	}
}
