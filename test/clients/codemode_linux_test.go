package clients

import (
	"strings"
	"testing"

	"torno/test/house"
)

// TestCodexInCodeMode: with newer models it has one tool, which takes a program, and says its tools in the conversation.
func TestCodexInCodeMode(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := stageFor(t, codex, sandbox, nil)
		newer := strings.Replace(codex.run, "gpt-5.5", "gpt-6.1-sol", 1)
		s.usesATool(s.Run(s.ask("tool", "client", newer,
			`#custom exec const made = await tools.exec_command({cmd: "echo from-$((40+2)) | tee made.txt"}); text(made.output)`)), "tool")
		if body := string(s.up.Posts()[0].Body); !strings.Contains(body, `"additional_tools"`) {
			t.Error("this model's tools are not in the conversation any more")
		}
	})
}
