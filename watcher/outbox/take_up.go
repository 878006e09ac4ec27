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

// TakeUp makes an admission for the record of a released run, from the request as it is now. It returns the reason why
// the run must end, or "" if it may go on. The admission's Spec serves a next attempt and tells how questions are
// decided; the run itself goes by the record's Terms. over means that the sandbox has ended by itself; then no policy
// can end the run.
func (o *Outbox) TakeUp(record journal.Run, over bool) (a *Admission, reason delegation.Reason) {
	in, reason := o.StillAsked(record)
	spec := sandbox.Spec{Profile: record.Profile, Mounts: []sandbox.Mount{{Target: record.Workspace, Workspace: true}}}
	if in.data == nil && record.Terms != nil {
		spec.Approvals = record.Terms.Approvals // the agent goes on asking
	}
	if reason != "" || in.data == nil {
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

// stillAllows compiles the request of a released run again. It returns the reason why the run must end, or "" if the
// policy still allows it. why is that reason in a sentence.
func (o *Outbox) stillAllows(record journal.Run, in Intake) (spec sandbox.Spec, reason delegation.Reason, why string) {
	// A profile name that is no token can only be the default's. The zero token stands for it.
	in.Request.Profile, _ = delegation.ParseToken(record.Profile)
	spec, _, err := compile.Compile(in.Request, o.Settings.Policy) // its warnings are already in the record
	at := record.Handle.Workspace
	switch {
	case err != nil:
		return spec, delegation.ReasonOperator, "The watcher was started again and no longer allows this run: " + err.Error()
	case at == "" || at == spec.WorkspacePath():
		return spec, "", ""
	case in.read.Content == record.Content:
		return spec, delegation.ReasonOperator, "The watcher was started again, and its policy now maps the workspace of this run to another directory."
	}
	return spec, delegation.ReasonSuperseded, "The request was changed while no watcher was running, and now asks for another workspace."
}

// StillAsked reads the request of a record once more, with the same distrust as ever. It returns the reason why no
// client waits for the run any more, or "" if one does. By now the same request may lie in another file. If this process
// cannot read it, for example because it has too many open files, the record counts: the Intake has no data then.
func (o *Outbox) StillAsked(record journal.Run) (in Intake, reason delegation.Reason) {
	in = Intake{name: record.FileName, read: record.Reading(), seen: record.Created, descent: record.Descent}
	data, read, err := o.readSettled(record.FileName, o.longer(in.read))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return in, delegation.ReasonClientGone
	case isShortage(record.FileName, err):
		o.log.Warn("the request of a run cannot be read; the run goes by its record", "run", record.Key, "file", record.FileName, "error", err)
		return in, ""
	}
	request, decodeErr := delegation.DecodeRequest(data)
	if err != nil || decodeErr != nil || request.SubagentID != record.Subagent || request.RequestID != record.Request {
		return in, delegation.ReasonSuperseded
	}
	in.read, in.data, in.Request = read, data, request
	return in, ""
}

const (
	// settleTries bounds how often a doubtful request is read again: its writer may still be at work, or this process may
	// be short of some resource for a moment.
	settleTries = 5
	// mostWriterPauses bounds the pauses for writers, for all requests of an outbox together: others wait for its start.
	mostWriterPauses = 16
)

// isShortage reports whether an error of reading a request is this process's, or the disk's, and not the file's.
func isShortage(name string, err error) bool {
	return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, delegation.ErrChanged) && delegation.RefuseEntry(name, err) == nil
}

// readSettled reads a request, which may have longer bytes if that is more than the limit. It reads again while the file
// may not be whole, or cannot be read.
func (o *Outbox) readSettled(name string, longer int64) (data []byte, read delegation.Reading, err error) {
	for try := 1; ; try++ {
		data, read, err = o.Dir.ReadRequest(name, max(longer, o.Settings.MaxRequestBytes))
		if try == settleTries || !o.mayReadAgain(name, data, read, err) {
			return data, read, err
		}
		_ = retry.Pause(o.Life, settle/2)
	}
}

// mayReadAgain reports whether a request deserves another read. If its writer may still be at work, this uses one of the
// outbox's pauses for writers.
func (o *Outbox) mayReadAgain(name string, data []byte, read delegation.Reading, err error) bool {
	if err != nil && !errors.Is(err, delegation.ErrChanged) {
		return isShortage(name, err)
	}
	if err == nil {
		_, unread := delegation.DecodeRequest(data)
		if unread == nil || time.Since(read.Stamp.ModTime).Abs() >= settle {
			return false
		}
	}
	return o.writerPauses.Add(1) <= mostWriterPauses
}
