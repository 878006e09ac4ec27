package engine

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// everything is the pattern of every call of the watcher's.
const everything = ""

// behind is a house whose watcher reaches the machine's engine through a proxy.
func behind(t *testing.T) (*house.House, *house.Proxy) {
	t.Helper()
	t.Parallel()
	proxy := house.NewProxy(t, house.NeedEngine(t))
	return house.New(t, house.Plan{Host: proxy.Host()}), proxy
}

// notices are what a client reads in watcher.json.
func notices(h *house.House) (codes []delegation.NoticeCode) {
	h.Helper()
	beat, err := delegation.DecodeHeartbeat([]byte(h.Read(h.Path(delegation.HeartbeatName))))
	h.Must(err)
	for _, notice := range beat.Notices {
		codes = append(codes, notice.Code)
	}
	return codes
}

// told waits until clients are told of a trouble, and an operator too.
func told(h *house.House, code delegation.NoticeCode) {
	h.Helper()
	h.Eventually("clients are told of "+string(code), func() bool { return slices.Contains(notices(h), code) })
	h.Eventually("the operator is told of "+string(code), func() bool {
		status, err := h.Client.Status(h.Context())
		h.Must(err)
		is := func(n delegation.Notice) bool { return n.Code == code && !n.Since.IsZero() }
		return slices.ContainsFunc(status.Outboxes[0].Notices, is)
	})
}

// calm waits until no notice is shown any more.
func calm(h *house.House) {
	h.Helper()
	h.Eventually("no notice is shown any more", func() bool { return len(notices(h)) == 0 })
}

// watched is for how long a watcher that waits is looked at.
const watched = 3 * time.Second

// patiently looks for some seconds at a watcher that waits: it does not call as if that could help. It is given what it
// may call: a call is tried at least once, and never in a loop. A machine that is busy may leave it something from
// before to do, so it is looked at again; a loop would go on.
func patiently(h *house.House, proxy *house.Proxy, calls int) {
	h.Helper()
	var made []house.Call
	for range 5 {
		since := time.Now()
		<-time.After(watched)
		if made = proxy.Calls(everything, since); len(made) <= calls {
			return
		}
	}
	h.Errorf("waiting took %d calls in %s: %v", len(made), watched, made)
}

// TestWaitingForAnEngineIsNoWork: a watcher whose engine is away neither calls it in a loop, nor does anything else in
// one.
func TestWaitingForAnEngineIsNoWork(t *testing.T) {
	h, proxy := behind(t)
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	proxy.Vanish()
	h.Submit(house.Ask{ID: "queued", Task: "echo late"})
	told(h, delegation.NoticeLauncher)
	const most = 30
	used := most + 1
	for range 5 {
		if used > most {
			before := h.Ticks()
			<-time.After(watched)
			used = h.Ticks() - before
		}
	}
	if used > most {
		t.Errorf("waiting cost %d hundredths of a second in %s", used, watched)
	}
	proxy.Listen()
	finished(h, running)
}

// until is a task that waits for a file in its workspace.
const until = "echo ready; while ! test -e go; do sleep 0.02; done; echo done"

func letOn(h *house.House, a house.Ask) { h.Touch("workspaces/" + a.ID + "/go") }

// finished lets a task of until on and wants all of its output.
func finished(h *house.House, a house.Ask) {
	h.Helper()
	letOn(h, a)
	resp := h.Response(a)
	h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "ready\ndone\n" || h.Read(a.Answer) != "ready\ndone\n" {
		h.Errorf("the tail is %q, the answer %q", resp.StdoutTail, h.Read(a.Answer))
	}
}

func TestTheSocketIsGone(t *testing.T) {
	h, proxy := behind(t)
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	proxy.Vanish()
	queued := h.Submit(house.Ask{ID: "queued", Task: "echo late"})
	told(h, delegation.NoticeLauncher)
	patiently(h, proxy, 0)
	if h.Exists("response_running.json") || h.Exists("response_queued.json") {
		t.Error("something was said of runs that nobody could look at")
	}
	cancelled := h.Submit(house.Ask{ID: "cancelled", Task: "true"})
	h.Touch("cancel_cancelled")
	proxy.Listen()
	h.Want(h.Response(queued), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Want(h.Response(cancelled), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	finished(h, running)
	calm(h)
}

// TestEachCallFails has one call after the other fail, in each way, while a run goes its way: it is done as if nothing had
// been, or it is not launched and the engine's words are handed on.
func TestEachCallFails(t *testing.T) {
	calls := []string{
		"POST containers/create", "POST containers/ID/attach", "POST containers/ID/start", "POST containers/ID/wait",
		"GET containers/ID/json", "DELETE containers/ID",
	}
	ways := map[string]func(*house.Proxy, string) func(){
		"not reached": (*house.Proxy).Drop,
		"lost":        (*house.Proxy).Lose,
		"unavailable": func(p *house.Proxy, call string) func() { return p.Answer(call, http.StatusServiceUnavailable) },
		"error":       func(p *house.Proxy, call string) func() { return p.Answer(call, http.StatusInternalServerError) },
	}
	for way, fail := range ways {
		t.Run(way, func(t *testing.T) {
			h, proxy := behind(t)
			for _, call := range calls {
				since := time.Now()
				mend := fail(proxy, call)
				a := h.Submit(house.Ask{ID: strings.Map(letter, call), Task: "echo hello"})
				h.Eventually(call+" fails", func() bool { return len(proxy.Calls(call, since)) >= 2 || h.Exists("response_"+a.ID+".json") })
				mend()
				resp := h.Response(a)
				if resp.Reason == delegation.ReasonLaunchFailed && fatal(way, call) && handedOn.MatchString(resp.StderrTail) {
					continue
				}
				h.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
				if resp.StdoutTail != "hello\n" {
					t.Errorf("%s: the output is %q", call, resp.StdoutTail)
				}
			}
			h.Eventually("no sandbox is left", func() bool { return len(h.Engine.Containers(t, h.Installation())) == 0 })
			calm(h)
		})
	}
}

// fatal says whether an answer ends a launch. Of an attach that is refused the client does not tell why.
func fatal(way, call string) bool {
	return way == "error" || way == "unavailable" && call == "POST containers/ID/attach"
}

// handedOn are the proxy's words, or what the client makes of them.
var handedOn = regexp.MustCompile("the proxy was told to answer so|received 50[03]")

// letter makes an id of a call.
func letter(r rune) rune {
	if r == ' ' || r == '/' {
		return '-'
	}
	return r
}

func TestAnEngineThatAnswersNothingButErrors(t *testing.T) {
	h, proxy := behind(t)
	running := h.Submit(house.Ask{ID: "running", Task: until})
	h.Says(running, "ready")
	mend := proxy.Answer(everything, http.StatusServiceUnavailable)
	proxy.Cut(everything)
	waiting := h.Submit(house.Ask{ID: "waiting", Task: "echo late"})
	told(h, delegation.NoticeLauncher)
	patiently(h, proxy, 40)
	mend()
	h.Want(h.Response(waiting), delegation.StatusCompleted, delegation.ReasonExited, 0)
	finished(h, running)
	calm(h)
}

func TestStreamsAreCut(t *testing.T) {
	h, proxy := behind(t)
	a := h.Submit(house.Ask{ID: "s1", Task: until})
	h.Says(a, "ready")
	for _, stream := range []string{"POST containers/ID/attach", "POST containers/ID/wait", everything, "GET containers/ID/logs", everything} {
		since := time.Now()
		proxy.Cut(stream)
		if stream != "POST containers/ID/attach" && stream != "GET containers/ID/logs" { // without the output the end is still seen
			h.Eventually("the watcher looks again", func() bool { return len(proxy.Calls("POST containers/ID/wait", since)) > 0 })
		}
	}
	letOn(h, a)
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	calm(h)
}

func TestASlowEngineIsWaitedFor(t *testing.T) {
	h, proxy := behind(t)
	release := proxy.Delay("POST containers/create")
	a := h.Submit(house.Ask{ID: "s1", Task: "echo slowly"})
	told(h, delegation.NoticeLauncher)
	if made := proxy.Calls("POST containers/create", time.Time{}); len(made) < 1 {
		t.Error("nobody asked the engine")
	}
	release()
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	calm(h)
}
