package jarvis

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/manager/agentfile"
	"torno/manager/answerschema"
	"torno/manager/mcp"
)

const maxAnswer = 1 << 20 // bytes of an answer that are read

// job is one call on its way to an answer.
type job struct {
	plan

	agent   *agentfile.Agent
	leave   func()
	request string // ID of the current run's request
	fresh   bool   // the host had lost the conversation, and a new one began
	retried bool   // it was told about the mistake in its answer
	over    bool   // the call has its answer or its error
	took    time.Duration
	cost    float64
	priced  bool // cost covers all runs
	runs    int
}

// finish waits for the agent's end, and returns the answer or the error.
func (j *job) finish(ctx context.Context, desk *mcp.Desk) (*mcp.Page, error) {
	for {
		child, result, err := j.wait(ctx, desk)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return nil, cause
			}
			page := failed(desk, j.agent, agentfile.FailureCLI).Trouble(desk, err)
			if j.over = errors.Is(err, manager.ErrSuperseded) || errors.Is(err, manager.ErrGone) || errors.Is(err, manager.ErrNoRun); !j.over {
				page.Printf("\nThe same call again waits on for its answer.")
			}
			return page, nil
		}
		j.count(result)
		again, page, err := j.judge(ctx, desk, child, result)
		if again {
			continue
		}
		if page != nil {
			j.over = true
			desk.Told(child)
		}
		return page, err
	}
}

// wait waits for the run's end.
func (j *job) wait(ctx context.Context, desk *mcp.Desk) (child mcp.Child, result manager.Result, err error) {
	if err = desk.End(ctx, j.ID); err != nil {
		return child, result, err
	}
	if child, err = desk.Look(j.ID); err != nil {
		return child, result, err
	}
	if child.RequestID != j.request {
		return child, result, manager.ErrSuperseded
	}
	result, err = desk.Result(child, maxAnswer)
	return child, result, err
}

// count adds the time and the cost of a run.
func (j *job) count(r manager.Result) {
	if !r.StartedAt.IsZero() && !r.CompletedAt.IsZero() {
		j.took += max(0, r.CompletedAt.Sub(r.StartedAt))
	}
	money, known := 0.0, false
	if r.Usage != nil && r.Usage.Model != nil {
		var err error
		money, err = strconv.ParseFloat(r.Usage.Model.Money, 64)
		known = err == nil
	}
	j.priced = known && (j.priced || j.runs == 0)
	j.cost = math.Round((j.cost+money)*1e6) / 1e6
	j.runs++
	for _, warning := range r.Warnings {
		j.notes = append(j.notes, strings.TrimSuffix(mcp.Words(warning), "."))
	}
}

// judge decides what follows from the end of a run. If it begins another run instead, again tells the caller to wait
// for that run in the same way.
func (j *job) judge(ctx context.Context, desk *mcp.Desk, child mcp.Child, r manager.Result) (again bool, page *mcp.Page, err error) {
	if j.forgotten(r) {
		return j.replace(desk, child, func() (mcp.Begun, error) {
			j.fresh = true
			return j.anew(ctx, desk, "its earlier conversation is not kept any more, so it knows nothing of it")
		})
	}
	if page := j.failure(desk, r); page != nil {
		return false, page, nil
	}
	if j.schema == nil {
		page, err := j.success(desk, r)
		return false, page, err
	}
	value, mismatch := j.schema.Check(r.Answer)
	if mismatch == nil {
		page, err := j.structured(desk, value)
		return false, page, err
	}
	why := j.unasked(r)
	if why != "" {
		page, err := j.mismatched(desk, mismatch, why)
		return false, page, err
	}
	j.retried = true
	return j.replace(desk, child, func() (mcp.Begun, error) { return j.tell(ctx, desk, mismatch) })
}

// forgotten reports whether the host has refused the run because it no longer has the conversation.
func (j *job) forgotten(r manager.Result) bool {
	return j.agent.Session && !j.fresh && r.Refused() && r.Error != nil && r.Error.Code == delegation.CodeSession
}

// unasked returns why an agent gets no second try after a wrong answer. It returns "" if the agent may try again.
func (j *job) unasked(r manager.Result) string {
	switch {
	case j.retried:
		return "it was told what is wrong, and its second answer does not match either"
	case !j.sessions || r.SessionID == "":
		return "it was not told what is wrong, because the host has not kept its conversation"
	case j.left() < time.Second:
		return "it was not told what is wrong, because its time is over"
	}
	return ""
}

// left returns how much of the agent's time remains.
func (j *job) left() time.Duration { return j.Timeout - j.took }

// tell tells the agent about its mistake and lets it answer a second time.
func (j *job) tell(ctx context.Context, desk *mcp.Desk, m *answerschema.Mismatch) (mcp.Begun, error) {
	task := j.Task
	task.Text, task.Timeout = m.Feedback(), j.left()
	return desk.Continue(ctx, task)
}

// replace takes a run's result out of the outbox and begins the next run.
func (j *job) replace(desk *mcp.Desk, child mcp.Child, begin func() (mcp.Begun, error)) (again bool, page *mcp.Page, err error) {
	if err := desk.Take(child); err != nil {
		page, err := j.notStarted(desk, err)
		return false, page, err
	}
	begun, err := begin()
	page, err = j.begun(desk, begun, err)
	return page == nil && err == nil, page, err
}

// errNoAnswer means that an agent ended without saying anything.
var errNoAnswer = errors.New("it ended without an answer")
