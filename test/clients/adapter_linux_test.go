package clients

import (
	"fmt"
	"testing"

	"torno/delegation"
	"torno/internal/runfile"
)

// TestAnAdapterReadsAClient: what the client does is told in the words that all agents share, and it ends as the client does.
func TestAnAdapterReadsAClient(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		s := stageFor(t, c, sandbox, nil)
		adapter := runfile.Init + " agent " + c.Name + " --task /dev/stdin --answer answer --model " + c.model + " -- " + c.Name
		adapter = "tell() { " + adapter + ` >told; code=$?; grep -v '"type":"session"' told; return $code; }; tell` // a session is long, and only the end is shown
		tool := s.Submit(s.ask("tool", "client", adapter, fmt.Sprintf(c.tool, "echo from-$((40+2)) | tee made.txt")))
		thought := s.Submit(s.ask("thought", "client", adapter, "#think of it"))
		poor := s.Submit(s.ask("poor", "poor", adapter, fmt.Sprintf(c.tool, "echo done")))
		resp := s.Response(tool)
		s.usesATool(resp, "tool")
		for _, told := range []string{`{"type":"tool_call","tool":{"id":"`, `{"type":"tool_result","text":"from-42`, `{"type":"result","text":"The tool said: `, `{"type":"usage","tokens":{"input":20,"output":6}}`} {
			s.wantPrinted(resp, told)
		}
		resp = s.Response(thought)
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.wantPrinted(resp, `{"type":"thinking","text":"I think: of it"}`)
		if answer := s.Read(s.Outbox + "/workspaces/thought/answer"); answer != "You said: of it" {
			t.Errorf("the answer is %q", answer)
		}
		resp = s.Response(poor)
		s.endsWithItsBudget(resp)
		s.wantPrinted(resp, "torno-agent: "+c.Name+" failed: ")
	})
}
