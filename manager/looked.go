package manager

import (
	"errors"
	"io/fs"

	"torno/delegation"
)

// looked holds a subagent's files as the last listing read them. A file is read again unless its stamp shows that it
// has not changed since it was read and checked. Refused files are not kept. A looked never changes once it is made.
type looked struct {
	request  readAs[Item] // without the state of the run
	status   readAs[delegation.RunStatus]
	response readAs[delegation.Response] // without its texts
}

// readAs is a file with its decoded content.
type readAs[T any] struct {
	file  delegation.Reading
	value T
}

// lookAt returns the present content of a file. It reads the file only if the stamp may hide a change since the last
// reading.
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

// look reads the files of the subagent whose id is in a request file's name.
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
	now.response, _ = lookAt(m, delegation.ResponseName(subagent), maxResponse, was.response, decodeEnd) // a file that is no response now may become one
	return now, true
}

// decodeEnd decodes only the parts of a response that a listing shows.
func decodeEnd(data []byte) (delegation.Response, error) {
	r, err := delegation.DecodeResponse(data)
	return delegation.Response{
		SubagentID: r.SubagentID, RequestID: r.RequestID, Status: r.Status, Reason: r.Reason, ExitCode: r.ExitCode, Usage: r.Usage,
		StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
	}, err
}

// item returns the state of the subagent. A status and a response count only if they belong to this request.
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

// is reports whether a file belongs to this request. A file that was not read names no subagent.
func (i Item) is(subagent, request string) bool {
	return subagent != "" && subagent == i.SubagentID && request == i.RequestID
}
