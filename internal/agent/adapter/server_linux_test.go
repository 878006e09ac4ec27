package adapter_test

import (
	"slices"
	"strings"
	"testing"

	"torno/internal/agent"
)

// serves is a Codex that is a server: it writes down what it reads, its first turn ends when it is interrupted, and its second when it was told
// what was said with the interrupt. Of a message that is steered into the first it says that it has it, and drops it.
const serves = `
n=0
say() { printf '%s\n' "$1"; }
while read -r line; do
	printf '%s\n' "$line" >>$D/heard
	case "$line" in
	*'"thread/start"'*) say '{"id":"thread","result":{"thread":{"id":"T"}}}' ;;
	*'"turn/start"'*)
		n=$((n+1))
		say '{"id":"turn-'$n'","result":{"turn":{"id":"t'$n'"}}}'
		if [ $n = 2 ]; then say '{"method":"item/started","params":{"threadId":"T","item":{"type":"userMessage","clientId":"torno-1"}}}'; fi
		;;
	*'"turn/interrupt"'*) say '{"id":"stop-2","result":{}}'; say '{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t1","status":"interrupted"}}}' ;;
	*'"turn/steer"'*'"t1"'*) say '{"id":"say-1","result":{"turnId":"t1"}}' ;;
	*'"turn/steer"'*'"t2"'*)
		say '{"id":"say-2","result":{"turnId":"t2"}}'
		say '{"method":"item/started","params":{"threadId":"T","item":{"type":"userMessage","clientId":"torno-2"}}}'
		say '{"method":"item/completed","params":{"threadId":"T","turnId":"t2","item":{"type":"agentMessage","text":"the answer"}}}'
		say '{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t2","status":"completed"}}}'
		;;
	esac
done
`

// withoutSession leaves out that there is no session to keep, which this Codex does not have.
func withoutSession(told []agent.Line) []agent.Line {
	return slices.DeleteFunc(told, func(l agent.Line) bool {
		return l.Kind == agent.Notice && strings.Contains(l.Text, "the session of codex is not kept")
	})
}

// TestAServerIsTalkedWith until nothing is left to be said: its input is open from turn to turn, what it dropped it is told again, and the end of its last turn
// ends it.
func TestAServerIsTalkedWith(t *testing.T) {
	r := newRig(t, "codex", serves, "--hear=messages")
	r.cmd.Args = append(r.cmd.Args, "--", r.in("codex"))
	p := r.parent()
	r.start()
	p.say(1, agent.Message, "dropped")
	r.until(`"n":1`)
	p.say(2, agent.Interrupt, "instead")
	code, told := r.wait()
	if last := r.last(withoutSession(told)); code != 0 || last.Failed || r.read("answer") != "the answer" {
		t.Errorf("exit %d, %+v, the answer is %q; %s", code, last, r.read("answer"), r.read("stderr"))
	}
	heard := r.read("heard")
	for text, times := range map[string]int{"do it": 1, "dropped": 2, "instead": 1, "backgroundTerminals/clean": 1} {
		if got := strings.Count(heard, text); got != times {
			t.Errorf("it was told %q %d times, and not %d: %s", text, got, times, heard)
		}
	}
}

// TestAServerThatDiesInATurn: that the turn before went well is not this run's result.
func TestAServerThatDiesInATurn(t *testing.T) {
	dies := strings.ReplaceAll(serves, `say '{"id":"say-2"`, `exit 0; say '{"id":"say-2"`)
	dies = strings.ReplaceAll(dies, "interrupted", "completed")
	r := newRig(t, "codex", dies, "--hear=messages")
	r.cmd.Args = append(r.cmd.Args, "--", r.in("codex"))
	p := r.parent()
	r.start()
	p.say(1, agent.Message, "dropped")
	r.until(`"n":1`)
	p.say(2, agent.Interrupt, "instead")
	if code, told := r.wait(); code == 0 || !r.last(withoutSession(told)).Failed {
		t.Errorf("exit %d, %+v", code, told)
	}
}
