package usage

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

const (
	jsonType   = "application/json"
	eventType  = "text/event-stream; charset=utf-8"
	amazonType = "application/vnd.amazon.eventstream"
)

// answer is a whole one that tells its usage.
type answer struct {
	name, api, contentType, body string
	want                         Usage
}

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("event: x\ndata: " + e + "\n\n")
	}
	return b.String()
}

var anthropicEvents = []string{
	`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1100,"cache_creation_input_tokens":200,` +
		`"cache_read_input_tokens":300,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":50,"ephemeral_1h_input_tokens":150}}}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"say \"usage\":{\"output_tokens\":0}"}}`,
	`{"type":"ping"}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":77}}`,
	`{"type":"message_stop"}`,
}

// message is one of Amazon's event stream.
func message(payload string) string {
	headers := "\x0b:event-type\x07\x00\x05chunk"
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(b, headers+payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func invoked(events []string) string {
	var b strings.Builder
	for _, e := range events {
		text := strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(e)), "/", `\/`)
		b.WriteString(message(`{"bytes":"` + text + `","p":"abcdef"}`))
	}
	return b.String()
}

var (
	anthropicWant = Usage{Input: 1100, Output: 77, CacheRead: 300, CacheWrite: 200, CacheWriteHour: 150}
	googlePieces  = []string{
		`{"candidates":[{"content":{"parts":[{"text":"hel"}]}}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"totalTokenCount":12}}`,
		`{"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,` +
			`"candidatesTokenCount":5,"thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":25}}`,
	}
	googleWant = Usage{Input: 9, Output: 12, CacheRead: 4}
)

// answers are the shapes that are known. Each test goes over all of them.
var answers = []answer{
	{"messages", "anthropic", jsonType, `{"type":"message","content":[{"type":"tool_use","input":{"usage":{"output_tokens":0}}}],
		"usage":{"input_tokens":5,"output_tokens":6,"cache_read_input_tokens":7,"cache_creation_input_tokens":null}}`, Usage{Input: 5, Output: 6, CacheRead: 7}},
	{"messages, stream", "anthropic", eventType, sse(anthropicEvents...), anthropicWant},
	{
		"messages, a delta that repeats the input", "anthropic", eventType, sse(anthropicEvents[0],
			`{"type":"message_delta","usage":{"input_tokens":1200,"cache_read_input_tokens":0,"output_tokens":9}}`,
			`{"type":"message_delta","usage":{"output_tokens":12}}`, `{"type":"message_delta","usage":{"output_tokens":8}}`, anthropicEvents[4]),
		Usage{Input: 1200, Output: 12, CacheRead: 300, CacheWrite: 200, CacheWriteHour: 150},
	},
	{
		"responses", "openai-responses", jsonType, `{"object":"response","status":"completed","output":[],"usage":{"input_tokens":100,
		"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":15},"total_tokens":120}}`,
		Usage{Input: 30, Output: 20, CacheRead: 60, CacheWrite: 10, CacheWriteHour: 10},
	},
	{
		"responses, stream", "openai-responses", eventType, sse(`{"type":"response.created","response":{"usage":null}}`,
			`{"type":"response.output_text.delta","delta":"x"}`,
			`{"type":"response.completed","response":{"output":[{"text":"{\"usage\":{}}"}],"usage":{"input_tokens":100,"output_tokens":20}}}`),
		Usage{Input: 100, Output: 20},
	},
	{"chat", "openai-chat", jsonType, `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10,
		"prompt_tokens_details":{"cached_tokens":3}}}`, Usage{Input: 5, Output: 2, CacheRead: 3}},
	{
		"chat, what was written for an unknown time", "openai-chat", jsonType,
		`{"usage":{"prompt_tokens":80,"completion_tokens":2,"prompt_tokens_details":{"cache_write_tokens":70}}}`,
		Usage{Input: 10, Output: 2, CacheWrite: 70, CacheWriteHour: 70},
	},
	{
		"chat, thinking beside the completion", "openai-chat", jsonType,
		`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":510}}`,
		Usage{Input: 8, Output: 502},
	},
	{"embeddings", "openai-chat", jsonType, `{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}`, Usage{Input: 8}},
	{"chat, stream", "openai-chat", eventType, ": comment\n\n" + sse(`{"choices":[{"delta":{"content":"x"}}],"usage":null}`,
		`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":2}}`, "[DONE]"), Usage{Input: 8, Output: 2}},
	{"chat, usage in every chunk", "openai-chat", eventType, sse(`{"usage":{"prompt_tokens":8,"completion_tokens":1}}`,
		`{"usage":{"prompt_tokens":8,"completion_tokens":2}}`) + "data: [DONE]\n", Usage{Input: 8, Output: 2}},
	{"google", "google", jsonType, googlePieces[1], googleWant},
	{
		"google, a prompt that was refused", "google", jsonType,
		`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10}}`,
		Usage{Input: 10},
	},
	{"google, stream", "google", eventType, sse(googlePieces...), googleWant},
	{"google, one array", "google", jsonType, "[" + strings.Join(googlePieces, ",\r\n") + "]", googleWant},
	{
		"converse", "bedrock", jsonType, `{"output":{},"usage":{"inputTokens":4,"outputTokens":5,"totalTokens":15,"cacheReadInputTokens":6,"cacheWriteInputTokens":0}}`,
		Usage{Input: 4, Output: 5, CacheRead: 6},
	},
	{"bedrock, messages", "bedrock", jsonType, `{"type":"message","usage":{"input_tokens":4,"output_tokens":5}}`, Usage{Input: 4, Output: 5}},
	{
		"converse, stream", "bedrock", amazonType, message(`{"role":"assistant"}`) + message(`{"delta":{"text":"x"}}`) + message("") +
			message(`{"stopReason":"end_turn"}`) + message(`{"metrics":{},"usage":{"inputTokens":4,"outputTokens":5,"cacheWriteInputTokens":2}}`),
		Usage{Input: 4, Output: 5, CacheWrite: 2, CacheWriteHour: 2},
	},
	{"bedrock, messages, stream", "bedrock", amazonType, invoked(anthropicEvents), anthropicWant},
}

// read is what a meter says of a body that comes in these pieces.
func read(t testing.TB, api, contentType string, pieces ...string) (Usage, bool) {
	t.Helper()
	m := NewMeter(api, contentType)
	for _, p := range pieces {
		if n, err := m.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("wrote %d of %d, %v", n, len(p), err)
		}
	}
	return m.Usage()
}

func TestWhatAnswersTell(t *testing.T) {
	for _, a := range answers {
		if got, ok := read(t, a.api, a.contentType, a.body); !ok || got != a.want {
			t.Errorf("%s: %+v, %v; want %+v", a.name, got, ok, a.want)
		}
	}
}

func TestPiecesDoNotMatter(t *testing.T) {
	for _, a := range answers {
		for i := range a.body {
			if got, ok := read(t, a.api, a.contentType, a.body[:i], a.body[i:]); !ok || got != a.want {
				t.Fatalf("%s, split at %d: %+v, %v; want %+v", a.name, i, got, ok, a.want)
			}
		}
		if got, ok := read(t, a.api, a.contentType, strings.Split(a.body, "")...); !ok || got != a.want {
			t.Errorf("%s, byte by byte: %+v, %v; want %+v", a.name, got, ok, a.want)
		}
	}
}

// TestAnAnswerThatWasCutHasNoUsage: wherever it is cut, it says nothing or all.
func TestAnAnswerThatWasCutHasNoUsage(t *testing.T) {
	for _, a := range answers {
		for i := range a.body {
			if got, ok := read(t, a.api, a.contentType, a.body[:i]); ok && got != a.want {
				t.Fatalf("%s, cut at %d: %+v; want nothing or %+v", a.name, i, got, a.want)
			}
		}
		if got, ok := read(t, a.api, a.contentType, a.body[:len(a.body)*3/4]); ok {
			t.Errorf("%s: three quarters of it tell %+v", a.name, got)
		}
	}
}

func TestLineEndsAndMarks(t *testing.T) {
	for _, a := range answers {
		if a.contentType != eventType {
			continue
		}
		for _, end := range []string{"\n", "\r\n", "\r"} {
			body := "\xef\xbb\xbf" + strings.ReplaceAll(a.body, "\n", end)
			if got, ok := read(t, a.api, a.contentType, body); !ok || got != a.want {
				t.Errorf("%s, lines that end in %q: %+v, %v; want %+v", a.name, end, got, ok, a.want)
			}
		}
	}
	split := "data:{\"usage\":\ndata: {\"prompt_tokens\":8,\ndata\ndata:\"completion_tokens\":2}}\nid: 5\n\ndata: [DONE]\n\n"
	if got, ok := read(t, "openai-chat", eventType, split); !ok || got != (Usage{Input: 8, Output: 2}) {
		t.Errorf("data in several lines: %+v, %v", got, ok)
	}
}

// TestLiesAreNotBelieved: what cannot be true takes the belief from the whole answer, so that what was reserved counts.
func TestLiesAreNotBelieved(t *testing.T) {
	for _, number := range []string{
		"-1", "-0.0", "1.5", "1e3", "1.0", "2000000000000", "9223372036854775808", strings.Repeat("9", 5000), `"7"`, "true", "{}", "[7]", "07", "+7", "0x7", "NaN",
	} {
		for _, body := range []string{
			`{"type":"message","usage":{"input_tokens":5,"output_tokens":` + number + `}}`,
			`{"type":"message","usage":{"input_tokens":5,"output_tokens":6,"cache_read_input_tokens":` + number + `}}`,
			`{"type":"message","usage":{"input_tokens":5,"output_tokens":6,"output_tokens":` + number + `}}`,
		} {
			if got, ok := read(t, "anthropic", jsonType, body); ok {
				t.Errorf("%.200s is believed: %+v", body, got)
			}
		}
	}
	delta := func(n string) string { return `{"type":"message_delta","usage":{"output_tokens":` + n + `}}` }
	for name, body := range map[string]string{
		"a negative number, mended later": sse(anthropicEvents[0], delta("-5"), delta("6"), anthropicEvents[4]),
		"an event that is no JSON":        sse(anthropicEvents[0], delta("5"), `{"type":"message_delta",`, anthropicEvents[4]),
		"two documents in an event":       sse(anthropicEvents[0], delta("5")+delta("7"), anthropicEvents[4]),
		"of two kinds":                    sse(anthropicEvents[0], delta("5"), `{"type":"message_stop","type":"ping"}`),
		"no delta":                        sse(anthropicEvents[0], anthropicEvents[4]),
		"no start":                        sse(delta("5"), anthropicEvents[4]),
		"half a byte order mark":          "\xef\xbb" + strings.ReplaceAll(sse(anthropicEvents...), "event: x\n", ""),
	} {
		if got, ok := read(t, "anthropic", eventType, body); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, body := range map[string]string{
		"an error":                `{"type":"error","error":{"type":"overloaded_error"},"usage":{"input_tokens":0,"output_tokens":0}}`,
		"something after the end": `{"type":"message","usage":{"input_tokens":5,"output_tokens":6}}{}`,
		"nothing":                 ``,
		"null":                    `{"type":"message","usage":null}`,
		"compressed":              "\x1f\x8b\x08\x00\x00",
	} {
		if got, ok := read(t, "anthropic", jsonType, body); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := read(t, "openai-chat", jsonType, `{"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}}}`); ok {
		t.Errorf("more from the cache than there was: %+v", got)
	}
}

func TestBrokenFrames(t *testing.T) {
	body := invoked(anthropicEvents)
	for i := range body {
		broken := body[:i] + string(body[i]^0x40) + body[i+1:]
		if got, ok := read(t, "bedrock", amazonType, broken); ok {
			t.Fatalf("byte %d changed: %+v", i, got)
		}
	}
	for _, text := range []string{`AA`, `AAA`, `A===`, `AA=A`, `A\nAA`, `A\u0041A`, `*AAA`} {
		if got, ok := read(t, "bedrock", amazonType, message(`{"bytes":"`+text+`"}`)+body); ok {
			t.Errorf("base64 %s: %+v", text, got)
		}
	}
}

func TestWhatIsNotKnownHasNoUsage(t *testing.T) {
	body := answers[0].body
	for _, c := range [][2]string{{"plain", jsonType}, {"", jsonType}, {"anthropic", ""}, {"anthropic", "text/html"}, {"anthropic", amazonType}, {"anthropic", ";;"}} {
		if got, ok := read(t, c[0], c[1], body); ok {
			t.Errorf("API %q, content type %q: %+v", c[0], c[1], got)
		}
	}
}

// TestMemoryIsConstant: the last event of the Responses API holds the whole answer.
func TestMemoryIsConstant(t *testing.T) {
	for _, contentType := range []string{jsonType, eventType} {
		m := NewMeter("openai-responses", contentType)
		m.Write([]byte(`data: {"type":"response.completed","response":{"output":"`))
		if contentType == jsonType {
			m = NewMeter("openai-responses", contentType)
			m.Write([]byte(`{"object":"response","output":"`))
		}
		text := []byte(strings.Repeat(`usage \"\u00e9 `, 1<<12))
		if n := testing.AllocsPerRun(20, func() { m.Write(text) }); n != 0 {
			t.Errorf("%s: %v allocations for a piece of a text", contentType, n)
		}
		m.Write([]byte(`","` + strings.Repeat("k", 1<<20) + `":1,"usage":{"input_tokens":3,"output_tokens":4}}`))
		if contentType == eventType {
			m.Write([]byte("}\n\n"))
		}
		if got, ok := m.Usage(); !ok || got != (Usage{Input: 3, Output: 4}) {
			t.Errorf("%s: after a text of a megabyte: %+v, %v", contentType, got, ok)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := func(n int) string {
		return `{"type":"message","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `,"usage":{"input_tokens":3,"output_tokens":4}}`
	}
	if _, ok := read(t, "anthropic", jsonType, deep(maxDepth-1)); !ok {
		t.Errorf("%d arrays are too deep", maxDepth-1)
	}
	if got, ok := read(t, "anthropic", jsonType, deep(maxDepth)); ok {
		t.Errorf("%d arrays: %+v", maxDepth, got)
	}
}
