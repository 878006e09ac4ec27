package massgen

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	"torno/manager/mcp"
)

func (h *home) waitTool() mcp.Tool {
	return mcp.Tool{
		Name: "custom_tool__wait_for_background_tool", Title: "Wait for a background job", Reads: true, Takes: (maxJobWait + 30) * time.Second,
		About: `
Wait until a background job has ended, and return the next one that you have not seen.`,
		Input: `{"type": "object", "properties": {"timeout_seconds": {"type": "number", "default": 30, "description": "at most 600"}}}`,
		Call: func(ctx context.Context, d *mcp.Desk, raw json.RawMessage) (*mcp.Page, error) {
			return h.waitForJob(ctx, &yard{d, h}, raw)
		},
	}
}

const (
	defaultJobWait = 30.0
	maxJobWait     = 600
)

// nothing is the answer of a wait whose time is up.
type nothing struct {
	Success  bool    `json:"success"`
	Ready    bool    `json:"ready"`
	TimedOut bool    `json:"timed_out"`
	Waited   float64 `json:"waited_seconds"`
	Message  string  `json:"message"`
}

func (h *home) waitForJob(ctx context.Context, desk *yard, raw json.RawMessage) (*mcp.Page, error) {
	in, err := mcp.Arguments[struct {
		Timeout *float64 `json:"timeout_seconds"`
	}](raw)
	if err != nil {
		return nil, err
	}
	seconds := defaultJobWait
	if in.Timeout != nil {
		seconds = min(max(*in.Timeout, 0), maxJobWait)
	}
	begin := time.Now()
	timed, done, err := desk.WaitingLong(ctx, time.Duration(seconds*float64(time.Second)))
	if err != nil {
		return jobFailed(desk, "%s", desk.Why(err))
	}
	defer done()
	waited := func() float64 { return math.Round(time.Since(begin).Seconds()*1000) / 1000 }
	for {
		unseen, err := h.unseen(ctx, desk)
		if err != nil {
			return jobFailed(desk, "%s", desk.Why(err))
		}
		if len(unseen) > 0 {
			page := desk.Page()
			j, err := h.jobOf(desk, page, unseen[0], maxAnswer)
			if err != nil {
				return jobFailed(desk, "%s", desk.Why(err))
			}
			if err := context.Cause(ctx); err != nil {
				return nil, err // nobody would receive the answer
			}
			if !h.show(unseen[0].RequestID) {
				continue // another call has just shown it
			}
			desk.Told(unseen[0])
			ready, after := true, waited()
			return page.Object(jobAnswer{Success: true, job: j, Ready: &ready, Waited: &after})
		}
		if mcp.TimeIsUp(timed) {
			return desk.Page().Object(nothing{true, false, true, waited(), "No background tool completed before timeout"})
		}
		if err := h.anyEnd(timed, desk); err != nil && !mcp.TimeIsUp(timed) {
			return nil, err
		}
	}
}

// anyEnd waits until a child in the background has ended, a new child may have started, or the time is up.
func (h *home) anyEnd(ctx context.Context, desk *yard) error {
	children, err := h.children(ctx, desk)
	if err != nil {
		return err
	}
	one, cancel := context.WithCancel(ctx)
	defer cancel()
	news := time.AfterFunc(time.Second, cancel) // other calls may start children meanwhile
	defer news.Stop()
	var group sync.WaitGroup
	for _, child := range children {
		if !child.Ended() {
			group.Go(func() {
				if desk.End(one, child.SubagentID) == nil {
					cancel()
				}
			})
		}
	}
	<-one.Done()
	group.Wait()
	return context.Cause(ctx)
}
