package jarvis

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"torno/manager/agentfile"
	"torno/manager/mcp"
)

// input holds the arguments of run_subagent.
type input struct {
	Name    string `json:"agent_name"`
	Prompt  string `json:"prompt"`
	Context string `json:"context"`
}

// call identifies a call: two calls are the same if the same client asks the same of the same agent.
type call struct {
	session string
	asked   [sha256.Size]byte
}

func callOf(session string, in input) call {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // texts always have a JSON form
	}
	return call{session, sha256.Sum256(text)}
}

func (h *house) run(ctx context.Context, desk *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[input](raw)
	switch {
	case err != nil:
		return nil, err
	case in.Name == "":
		return nil, mcp.BadArgument("agent_name", "agent_name is missing: one of the agents that the tool's description lists")
	case strings.TrimSpace(in.Prompt) == "":
		return nil, mcp.BadArgument("prompt", "prompt is missing: a text that says what to do")
	}
	a, err := h.agents.Get(in.Name, h.caller)
	if err != nil {
		return desk.Fail("").Printf("%s", mcp.Words(err.Error())), nil
	}
	ctx, done, err := desk.Waiting(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer done()
	key := callOf(desk.Session(ctx), in)
	j, page, err := h.begin(ctx, desk, a, in, key)
	if page != nil || err != nil {
		return page, err
	}
	defer j.leave()
	page, err = j.finish(ctx, desk)
	if err != nil || !j.over {
		h.keep(key, j)
	}
	return page, err
}

// begin starts the agent, or finds the agent that an earlier, same call started. If it cannot, the page says why.
func (h *house) begin(ctx context.Context, desk *mcp.Desk, a *agentfile.Agent, in input, key call) (*job, *mcp.Page, error) {
	hold, page := holdSession(desk, a)
	if page != nil {
		return nil, page, nil
	}
	j := h.again(key)
	if j == nil {
		beat, err := desk.Watcher()
		if err != nil {
			hold()
			return nil, failed(desk, a, agentfile.FailureCLI).Trouble(desk, err), nil
		}
		plan, why := planned(a, in, beat)
		if why != "" {
			hold()
			return nil, failed(desk, a, agentfile.FailureCLI).Printf("%s", why), nil
		}
		j = &job{plan: plan, agent: a}
		if page, err := j.start(ctx, desk); page != nil || err != nil {
			hold()
			return nil, page, err
		}
	}
	j.leave = hold
	return j, nil, nil
}

// maxCut bounds how many calls are remembered because their clients did not wait. Each holds the text of its task.
const maxCut = 64

// keep remembers a call that was cut off.
func (h *house) keep(key call, j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for old := range h.cut {
		if len(h.cut) < maxCut {
			break
		}
		delete(h.cut, old) // its answer stays in the outbox
	}
	h.cut[key] = j
}

// again returns the job of a same call that was cut off before, or nil. From now on it belongs to the caller.
func (h *house) again(key call) *job {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.cut[key]
	delete(h.cut, key)
	return j
}
