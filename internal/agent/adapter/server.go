package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"torno/internal/agent"
)

// server drives `codex app-server`, which talks JSON-RPC on its standard input and output. A thread is the
// conversation. A turn goes from a message of the user to the model's last word. serverread.go reads the server's
// output, serverask.go its requests for approval.
//
// If a message comes during a turn, the adapter steers it into that turn, and the model reads it with its next step.
// Codex accepts such a message, but drops it without a word if the turn is interrupted before that step. So the adapter
// acknowledges the message when Codex has accepted it, and keeps it until Codex shows it among the items of a turn,
// under the id that the adapter gave it. A message that Codex did not show before its turn ended begins the next turn.
type server struct {
	said

	asks  asks
	items serverItems
	used  turnUsage
	// reply sends the server a line without waiting.
	reply func(line []byte)

	mu      sync.Mutex // guards what follows
	task    string
	thread  string    // the conversation; "" until the server has named it
	turn    string    // the id of the running turn; "" while no turn runs
	opening bool      // turn/start was sent, and its answer with the turn's id is not there yet
	waiting []*spoken // messages of the parent that the model has not read, in order
	gone    bool      // the conversation could not be opened, and never will be
	begun   int       // number of turn/start requests sent
}

// spoken is a message, or an interrupt, of the parent.
type spoken struct {
	agent.Input
	done  func(error) // called once; nil after that
	sent  bool        // the server has it, for the running turn
	tries int         // turns that ended before the model read it
}

// Ids of our requests to the server. Requests about a message carry the message's number.
const (
	askInitialize = "initialize"
	askThread     = "thread"
	askTurn       = "turn-"
	askSteer      = "say-"
	askStop       = "stop-"
	askClean      = "clean-"
	askWhy        = "why-"
)

// request is a JSON-RPC request to the server. Without an id it is a notification.
type request struct {
	ID     string `json:"id,omitempty"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

type object = map[string]any

func encoded(r any) []byte {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // a text can always be encoded
	}
	return append(line, '\n')
}

// unwanted lists notifications that we ask the server to leave out: parts of items that it prints as a whole later.
var unwanted = []string{
	"item/agentMessage/delta", "item/plan/delta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta",
	"item/reasoning/summaryTextDelta", "item/reasoning/summaryPartAdded", "item/reasoning/textDelta", "turn/diff/updated", "account/rateLimits/updated",
}

// open returns the first requests. The server's answer names the conversation; then the adapter sends the task there.
func (s *server) open(task string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task = task
	// With "untrusted" Codex asks before each command and each change of files. The sandbox around it is ours. We name
	// no directory: Codex would trust it, and a rule file in the workspace could then let commands run without a
	// question.
	conversation := object{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	if s.asks.on {
		conversation["approvalPolicy"] = "untrusted"
	}
	method := "thread/start"
	if s.session.earlier != "" {
		method = "thread/resume"
		conversation["threadId"], conversation["excludeTurns"] = s.session.id, true
	}
	who := object{"clientInfo": object{"name": "torno", "version": "1"}, "capabilities": object{"experimentalApi": true, "optOutNotificationMethods": unwanted}}
	lines := encoded(request{askInitialize, "initialize", who})
	lines = append(lines, encoded(request{Method: "initialized"})...)
	return append(lines, encoded(request{askThread, method, conversation})...)
}

// say queues a message of the parent. It calls done when Codex has taken the message, or never will.
func (s *server) say(in agent.Input, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		done(errLate)
		return
	}
	s.waiting = append(s.waiting, &spoken{Input: in, done: done})
	s.advance()
}

// busy reports whether a turn or a message is under way. Closing the server's input would cut it off.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone && (s.thread == "" || s.opening || s.turn != "" || len(s.waiting) > 0)
}

// advance sends the waiting messages that the server can take now. The lock is held.
func (s *server) advance() {
	switch {
	case s.gone || s.thread == "" || s.opening:
	case s.turn != "":
		s.steer()
	default:
		s.next()
	}
}

// steer sends the waiting messages to the running turn, up to the first interrupt. Messages behind an interrupt are for
// the next turn.
func (s *server) steer() {
	for _, w := range s.waiting {
		if w.Kind == agent.Interrupt {
			s.stop(w)
			return
		}
		if !w.sent {
			w.sent = true
			s.ask(askSteer, w.N, "turn/steer", object{"expectedTurnId": s.turn, "clientUserMessageId": s.nameOf(w), "input": userInput(w.Text)})
		}
	}
}

// stop interrupts the turn, and ends its commands: Codex would let them run on.
func (s *server) stop(w *spoken) {
	if w.sent {
		return
	}
	w.sent = true
	s.ask(askStop, w.N, "turn/interrupt", object{"turnId": s.turn})
	s.ask(askClean, w.N, "thread/backgroundTerminals/clean", object{})
}

// next begins a turn with the first waiting message that has a text.
func (s *server) next() {
	for len(s.waiting) > 0 {
		first := s.waiting[0]
		if first.Text != "" {
			first.Kind, first.sent = agent.Message, true
			s.begin(first.Text, s.nameOf(first))
			return
		}
		s.settle(first, nil) // no turn runs, so the interrupt is done
	}
}

func (s *server) begin(text, name string) {
	s.opening = true
	s.begun++
	s.ask(askTurn, s.begun, "turn/start", object{"clientUserMessageId": name, "input": userInput(text)})
}

// ask sends a request about the conversation.
func (s *server) ask(kind string, n int, method string, params object) {
	params["threadId"] = s.thread
	s.reply(encoded(request{kind + strconv.Itoa(n), method, params}))
}

func userInput(text string) any { return []object{{"type": "text", "text": text}} }

// nameOf returns the client id of a message. Codex shows the message under this id when the model has read it.
func (s *server) nameOf(w *spoken) string { return fmt.Sprintf("torno-%d", w.N) }

// acknowledge reports to the parent, once, that the server has a message, or why it will not have it.
func (w *spoken) acknowledge(err error) {
	if w.done != nil {
		w.done(err)
		w.done = nil
	}
}

// settle takes a message off the queue, and acknowledges it.
func (s *server) settle(w *spoken, err error) {
	s.waiting = slices.DeleteFunc(s.waiting, func(other *spoken) bool { return other == w })
	w.acknowledge(err)
}

// heard settles the message of this client id: the model has read it.
func (s *server) heard(name string) {
	for _, w := range s.waiting {
		if s.nameOf(w) == name {
			s.settle(w, nil)
			return
		}
	}
}

// find returns the message of a number; nil when it is settled.
func (s *server) find(n int) *spoken {
	for _, w := range s.waiting {
		if w.N == n {
			return w
		}
	}
	return nil
}

// answer is a response of the server.
type answer struct {
	Result struct {
		Thread struct {
			ID loose[string] `json:"id"`
		} `json:"thread"`
		Turn struct {
			ID loose[string] `json:"id"`
		} `json:"turn"`
	} `json:"result"`
	Error *struct {
		Message loose[string] `json:"message"`
	} `json:"error"`
}

// why returns the error of a response, or nil.
func (a answer) why() error {
	if a.Error == nil {
		return nil
	}
	return errors.New(a.Error.Message.v)
}

// answered takes a response to a request of ours. The lock is held.
func (s *server) answered(id string, a answer) []agent.Line {
	switch {
	case id == askInitialize && a.Error != nil:
		return s.fail(fmt.Sprintf("its server does not talk to this adapter: %v", a.why()))
	case id == askThread:
		return s.opened(a)
	}
	kind, number, _ := strings.Cut(id, "-")
	n, _ := strconv.Atoi(number)
	switch kind + "-" {
	case askTurn:
		return s.began(a)
	case askSteer:
		if w := s.find(n); w != nil && a.Error == nil { // otherwise the turn has just ended, and the text begins the next one
			w.acknowledge(nil)
		}
	case askStop:
		s.interrupted(s.find(n))
	}
	return nil
}

// fail ends a conversation that cannot begin.
func (s *server) fail(why string) []agent.Line {
	s.gone, s.opening, s.turn = true, false, ""
	for len(s.waiting) > 0 {
		s.settle(s.waiting[0], errLate)
	}
	return s.result(why, true)
}

// opened begins the first turn, with the task.
func (s *server) opened(a answer) []agent.Line {
	id := a.Result.Thread.ID.v
	switch {
	case s.thread != "" || s.gone:
		return nil
	case a.Error != nil:
		return s.fail("it started no conversation: " + a.Error.Message.v)
	case id == "":
		return s.fail("its server does not name the conversation, and " + codexTitle + " does")
	}
	s.thread, s.session.id = id, id
	s.begin(s.task, "torno-task")
	return nil
}

// began takes the answer to our request for a turn. If the server refuses the turn, its text is not sent again.
func (s *server) began(a answer) []agent.Line {
	var first *spoken // the message that the turn begins with; nil if it begins with the task
	if len(s.waiting) > 0 && s.waiting[0].sent {
		first = s.waiting[0]
	}
	if a.Error == nil {
		if first != nil {
			first.acknowledge(nil)
		}
		if s.opening { // otherwise a notification has already named it
			s.runs(a.Result.Turn.ID.v)
		}
		return nil
	}
	s.opening = false
	if first != nil {
		s.settle(first, a.why())
	}
	told := s.result(a.Error.Message.v, true)
	s.advance()
	return told
}

// runs notes the id of a turn that we asked for, or that the server began by itself.
func (s *server) runs(turn string) {
	if s.turn != "" || s.gone || turn == "" {
		return
	}
	s.opening, s.turn = false, turn
	s.advance()
}

// interrupted settles an interrupt that has no text. It does so even if the server refused: then there was nothing left
// to interrupt. An interrupt with a text stays, because its text begins the next turn.
func (s *server) interrupted(w *spoken) {
	if w != nil && w.Text == "" {
		s.settle(w, nil)
	}
}

// maxTries is the number of turns that may end without the model having read a message. Then the message has failed.
const maxTries = 3

var errUnheard = errors.New("its turns ended before the model got it")

// ended handles the end of a turn. Messages that the model has not read begin the next turn.
func (s *server) ended(turn string) (told []agent.Line) {
	if turn == "" || turn != s.turn {
		return nil
	}
	s.turn = ""
	for _, w := range slices.Clone(s.waiting) {
		if !w.sent {
			continue
		}
		w.sent = false
		if w.Kind == agent.Interrupt {
			w.Kind = agent.Message // the interrupt is done; its text remains
		} else if w.tries++; w.tries == maxTries {
			s.settle(w, errUnheard)
			told = append(told, notice(fmt.Sprintf("message %d was left out: %v", w.N, errUnheard))...)
		}
	}
	s.advance()
	return told
}
