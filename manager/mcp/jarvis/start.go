package jarvis

import (
	"context"
	"errors"

	"torno/manager"
	"torno/manager/agentfile"
	"torno/manager/mcp"
)

// holdSession takes the conversation of an agent that has one, until leave is called. If the conversation is already
// taken, the page says so.
func holdSession(desk *mcp.Desk, a *agentfile.Agent) (leave func(), page *mcp.Page) {
	if !a.Session {
		return func() {}, nil
	}
	state, err := desk.Own("conversations")
	if err != nil {
		return nil, failed(desk, a, agentfile.FailureCLI).Trouble(desk, err)
	}
	defer state.Close()
	held, err := agentfile.Hold(state, a)
	if err != nil {
		return nil, failed(desk, a, agentfile.FailureCLI).Printf("%s", mcp.Words(err.Error()))
	}
	return func() { _ = held.Release() }, nil // if the release fails, the end of this process releases it
}

// start asks for the agent's run.
func (j *job) start(ctx context.Context, desk *mcp.Desk) (*mcp.Page, error) {
	if !j.agent.Session {
		return j.startNew(ctx, desk)
	}
	j.ID = j.agent.Name
	last, err := desk.Look(j.ID)
	switch {
	case errors.Is(err, manager.ErrNoRun):
		return j.startFirst(ctx, desk)
	case err != nil:
		return j.notStarted(desk, err)
	case !last.Ended():
		return j.notStarted(desk, &agentfile.BusyError{Agent: j.agent.Name})
	}
	begun, err := j.continueSession(ctx, desk)
	if errors.Is(err, manager.ErrOutstanding) {
		return j.earlier(desk, last)
	}
	return j.begun(desk, begun, err)
}

// startNew starts a subagent under an unused ID.
func (j *job) startNew(ctx context.Context, desk *mcp.Desk) (*mcp.Page, error) {
	var begun mcp.Begun
	var err error
	for range 5 {
		j.ID = newID(j.agent)
		begun, err = desk.Start(ctx, j.Task)
		if !errors.Is(err, manager.ErrWorkspaceThere) && !errors.Is(err, manager.ErrOutstanding) {
			break
		}
	}
	return j.begun(desk, begun, err)
}

// startFirst begins a conversation. If there is already a workspace, an earlier conversation existed and only its
// result is gone; then startFirst continues that conversation.
func (j *job) startFirst(ctx context.Context, desk *mcp.Desk) (*mcp.Page, error) {
	begun, err := desk.Start(ctx, j.Task)
	if errors.Is(err, manager.ErrWorkspaceThere) {
		begun, err = j.continueSession(ctx, desk)
	}
	return j.begun(desk, begun, err)
}

// continueSession continues the conversation, if the host keeps it.
func (j *job) continueSession(ctx context.Context, desk *mcp.Desk) (mcp.Begun, error) {
	if !j.sessions {
		return j.anew(ctx, desk, "the host keeps no conversations, so it knows nothing of earlier calls")
	}
	return desk.Continue(ctx, j.Task)
}

// anew begins another conversation in the workspace of the earlier one.
func (j *job) anew(ctx context.Context, desk *mcp.Desk, why string) (mcp.Begun, error) {
	task := j.Task
	task.Again = true
	j.notes = append(j.notes, why)
	return desk.Start(ctx, task)
}

// begun notes the new run, or says why there is none.
func (j *job) begun(desk *mcp.Desk, begun mcp.Begun, err error) (*mcp.Page, error) {
	if err != nil {
		return j.notStarted(desk, err)
	}
	j.request = begun.RequestID
	j.notes = append(j.notes, begun.Warnings...)
	return nil, nil
}

func (j *job) notStarted(desk *mcp.Desk, err error) (*mcp.Page, error) {
	if busy, ok := errors.AsType[*agentfile.BusyError](err); ok {
		return failed(desk, j.agent, agentfile.FailureCLI).Printf("%s", mcp.Words(busy.Error())), nil
	}
	return failed(desk, j.agent, agentfile.FailureCLI).Trouble(desk, err), nil
}

// earlier brings the answer to an earlier prompt. No call has brought it, because its server ended first. earlier also
// makes room for the next call.
func (j *job) earlier(desk *mcp.Desk, last mcp.Child) (*mcp.Page, error) {
	result, err := desk.Result(last, maxAnswer)
	if err != nil {
		return j.notStarted(desk, err)
	}
	page := failed(desk, j.agent, agentfile.FailureCLI).Printf("it was not begun, because an earlier call was cut off, whose task began so:\n")
	page.Quote(last.Task, maxTail)
	page.Printf("That run %s. Call again now for your prompt.\n", desk.How(result))
	if result.Answer != "" {
		page.Printf("Its answer:\n")
		page.Quote(result.Answer, maxShown)
	}
	desk.Told(last)
	return page, nil
}
