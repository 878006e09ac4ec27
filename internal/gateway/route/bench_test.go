package route

import (
	"strings"
	"testing"
)

// BenchmarkDecide is a step of a coding agent: 48 KiB of messages and tools.
func BenchmarkDecide(b *testing.B) {
	r := ofPreset(b, "anthropic", "models", []any{"claude-*"})
	tool := `{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}},`
	block := `{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("word ", 200) + `"}]},`
	body := `{"model":"claude-opus-5-5","max_tokens":32000,"stream":true,"tools":[` + strings.Repeat(tool, 20) + `{"name":"x"}],"messages":[` +
		strings.Repeat(block, 44) + `{"role":"user","content":"go on"}]}`
	q := post("/v1/messages?beta=true", body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Decide(q); err != nil {
			b.Fatal(err)
		}
	}
}
