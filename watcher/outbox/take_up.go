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

// TakeUp makes an admission of a record, from the request as it is now. The reason is why it must end, "" when it may go on. Its
// parent may have changed the request since, but not what the sandbox was made for: the profile is that of the record,
// and a request for another workspace is not the run's.
func (o *Outbox) TakeUp(record journal.Run) (a *Admission, reason delegation.Reason) {
	in, reason := o.StillAsked(record)
	in.descent = record.Descent
	if reason == "" {
		in.Request.Profile, _ = delegation.ParseToken(record.Profile)  // an operator's name that is no token is the default's
		spec, _, err := compile.Compile(in.Request, o.Settings.Policy) // what it warns of is in the record
		at := record.Handle.Workspace
		switch {
		case err != nil:
			reason = delegation.ReasonOperator
			record.Warnings = append(record.Warnings, "The watcher was started again and does not allow this run any more: "+err.Error())
		case at != "" && at != spec.WorkspacePath():
			reason = delegation.ReasonSuperseded
			record.Warnings = append(record.Warnings, "The request was changed while no watcher was there, and asks for another workspace now.")
		default:
			return o.Admission(record.RunKey(), in, spec, record.Warnings), ""
		}
	}
	known := sandbox.Spec{Profile: record.Profile, Mounts: []sandbox.Mount{{Target: record.Workspace, Workspace: true}}}
	return o.Admission(record.RunKey(), in, known, record.Warnings), reason
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
