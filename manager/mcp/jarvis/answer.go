package jarvis

import (
	"encoding/json"
	"fmt"

	"torno/delegation"
	"torno/manager"
	"torno/manager/agentfile"
	"torno/manager/answerschema"
	"torno/manager/mcp"
)

const (
	maxShown = 28_000 // bytes of JSON per answer
	maxTail  = 4_000
)

// answer is the result of a run in Jarvis's form. Only Result is the child's.
type answer struct {
	Agent    string   `json:"agent"`
	Result   any      `json:"result"`
	Duration int64    `json:"duration_ms"`
	Cost     *float64 `json:"cost_usd"` // null if the host does not count the cost
}

// failed begins an error in Jarvis's words.
func failed(desk *mcp.Desk, a *agentfile.Agent, kind agentfile.FailureKind) *mcp.Page {
	return desk.Fail("").Printf("%s", (&agentfile.RunError{Agent: a.Name, Kind: kind}).Error())
}

// failure returns the error page for a run without an answer. It returns nil if there is an answer.
func (j *job) failure(desk *mcp.Desk, r manager.Result) *mcp.Page {
	var page *mcp.Page
	switch {
	case r.Status == delegation.StatusTimeout:
		page = desk.Fail("").Printf("%s", agentfile.TimedOut(j.agent.Name, j.Timeout).Error())
		showTail(page, "Its answer until then:", r.Answer)
	case r.Completed() && r.AnswerErr != nil:
		page = failed(desk, j.agent, agentfile.FailureParse).Printf("its answer was not read")
		showTail(page, "Why:", r.AnswerErr.Error())
	case r.Completed() && r.Answer == "":
		page = failed(desk, j.agent, agentfile.FailureParse).Printf("%v", errNoAnswer)
	case r.Completed():
		return nil
	default:
		page = j.notCompleted(desk, r)
	}
	page.Printf("\n")
	j.note(page)
	return page
}

// notCompleted returns the error page for a run that did not end by itself, or failed.
func (j *job) notCompleted(desk *mcp.Desk, r manager.Result) *mcp.Page {
	page := failed(desk, j.agent, agentfile.FailureCLI)
	if r.Reason == delegation.ReasonExited && r.StderrTail == "" && j.offer.Agent == "claude" {
		page.Printf("Claude exited with code %d", r.ExitCode)
	} else {
		page.Printf("it %s", desk.How(r))
	}
	if r.Error != nil { // the tails only repeat its sentence
		if r.Error.Hint != "" {
			page.Printf("; %s", mcp.Words(r.Error.Hint))
		}
		return page
	}
	showTail(page, "The end of its standard error:", r.StderrTail)
	showTail(page, "Its answer until then:", r.Answer)
	return page
}

func showTail(page *mcp.Page, head, text string) {
	if text != "" {
		page.Printf("\n%s\n", head)
		page.Quote(text, maxTail)
	}
}

// success returns the page for an answer in words.
func (j *job) success(desk *mcp.Desk, r manager.Result) (*mcp.Page, error) {
	page := desk.Page()
	text, used := page.Stranger(r.Answer, maxShown)
	j.note(page)
	if used < len(r.Answer) || r.AnswerTruncated {
		page.Printf("Note: these are the first %d bytes of the answer; the resource torno://%s/answer has more.\n", used, j.ID)
	}
	return page, j.put(page, text)
}

// structured returns the page for an answer that matches its schema.
func (j *job) structured(desk *mcp.Desk, value json.RawMessage) (*mcp.Page, error) {
	page := desk.Page()
	j.note(page)
	if quoted, fits := page.StrangerJSON(value); fits {
		return page, j.put(page, quoted)
	}
	text, used := page.Stranger(string(value), maxShown)
	page.Printf("Note: the answer matches its schema, and is too long to be shown as JSON: result has the first %d of its %d bytes as a text; the resource torno://%s/answer has all that the agent said.\n",
		used, len(value), j.ID)
	return page, j.put(page, text)
}

// put makes the answer the page's structure.
func (j *job) put(page *mcp.Page, result any) error {
	a := answer{Agent: j.agent.Name, Result: result, Duration: j.took.Milliseconds()}
	if j.priced {
		a.Cost = &j.cost
	}
	return page.JSON(a, "result")
}

func (j *job) note(page *mcp.Page) {
	for _, note := range j.notes {
		page.Printf("Note: %s.\n", note)
	}
	if j.retried {
		page.Printf("Note: its first answer did not match its schema, so it was asked a second time.\n")
	}
}

// mismatch is the error for an answer that does not match its schema, in a form for programs.
type mismatch struct {
	Agent    string              `json:"agent"`
	Error    string              `json:"error"`
	Reason   answerschema.Reason `json:"reason"`
	Detail   mcp.Stranger        `json:"detail"`
	Attempts int                 `json:"attempts"`
	Duration int64               `json:"duration_ms"`
}

// mismatched returns the error page for an answer that does not match its schema.
func (j *job) mismatched(desk *mcp.Desk, m *answerschema.Mismatch, why string) (*mcp.Page, error) {
	page := desk.Fail("")
	detail, _ := page.Stranger(m.Detail, maxTail)
	said := mismatch{Agent: j.agent.Name, Error: m.Code, Reason: m.Reason, Detail: detail, Attempts: 1, Duration: j.took.Milliseconds()}
	if j.retried {
		said.Attempts = 2
	}
	message := fmt.Sprintf("its answer is not what output_schema asks for; %s\n", why)
	page.Printf("%s", (&agentfile.RunError{Agent: j.agent.Name, Kind: agentfile.FailureParse, Message: message}).Error())
	return page, page.JSON(said, "detail")
}
