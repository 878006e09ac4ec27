package manager

import (
	"errors"
	"io/fs"

	"torno/delegation"
)

// looked is what the last listing has read of a subagent's files. A file is read again unless its stamp shows that it is as it was when it
// was read and checked. What was refused is not kept. Nothing in a looked changes once it is made.
type looked struct {
	request  readAs[Item] // without where the run stands
	status   readAs[delegation.RunStatus]
	response readAs[delegation.Response] // without its texts
}

// readAs is a file, and what was made of its content.
type readAs[T any] struct {
	file  delegation.Reading
	value T
}

// lookAt is what a file says now. It reads the file only where its stamp may hide a change since it was last read.
func lookAt[T any](m *Manager, name string, limit int64, was readAs[T], decode func([]byte) (T, error)) (now readAs[T], err error) {
	if was.file.Firm {
		stamp, err := m.dir.Stat(name)
		if err != nil {
			return now, err
		}
		if was.file.Unchanged(stamp) && stamp.Size <= limit {
			return was, nil
		}
	}
	data, file, err := m.readRequest(name, limit)
	if err != nil {
		return now, err
	}
	now.file = file
	now.value, err = decode(data)
	if err != nil {
		return readAs[T]{}, err
	}
	return now, nil
}

// look looks at the files of the subagent that the name of a request file names.
func (m *Manager) look(name string, limit int64, was looked) (now looked, ok bool) {
	kind, id := delegation.ParseName(name)
	if kind != delegation.KindRequest {
		return now, false
	}
	var err error
	now.request, err = lookAt(m, name, limit, was.request, func(data []byte) (Item, error) { return m.asked(id, data) })
	if err != nil {
		return now, false
	}
	subagent := now.request.value.subagent
	now.status, err = lookAt(m, delegation.StatusName(subagent), maxStatus, was.status, delegation.DecodeRunStatus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Debug("status not readable", "subagent", id, "error", err)
	}
	now.response, _ = lookAt(m, delegation.ResponseName(subagent), maxResponse, was.response, decodeEnd) // what is no response now may be one at the next look
	return now, true
}

// decodeEnd reads of a response what a listing tells of it.
func decodeEnd(data []byte) (delegation.Response, error) {
	r, err := delegation.DecodeResponse(data)
	return delegation.Response{
		SubagentID: r.SubagentID, RequestID: r.RequestID, Status: r.Status, Reason: r.Reason, ExitCode: r.ExitCode, Usage: r.Usage,
		StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
	}, err
}

// item is where the subagent stands. Only a status and a response of this request count.
func (l looked) item() Item {
	item := l.request.value
	if item.CreatedAt.IsZero() {
		item.CreatedAt = l.request.file.Stamp.ModTime
	}
	if status := l.status.value; item.is(status.SubagentID, status.RequestID) {
		item.State, item.Reason, item.Position = status.State, status.Reason, status.Position
		item.ParentID, item.Depth = status.ParentID, status.Depth
		item.RunningSince, item.Deadline, item.Approvals = status.RunningSince, status.Deadline, status.Approvals
	}
	if response := l.response.value; item.is(response.SubagentID, response.RequestID) {
		item.State, item.Approvals = delegation.StateEnded, nil
		item.Status, item.Reason, item.ExitCode, item.Usage = response.Status, response.Reason, response.ExitCode, response.Usage
		item.StartedAt, item.CompletedAt = response.StartedAt, response.CompletedAt
	}
	return item
}

// is says whether a file is of this request. What was not read names no subagent.
func (i Item) is(subagent, request string) bool {
	return subagent != "" && subagent == i.SubagentID && request == i.RequestID
}
