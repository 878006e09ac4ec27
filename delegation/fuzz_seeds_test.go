package delegation

import (
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
)

// hostileIDs are ids as an attacker spells them, with a few good ones among them.
var hostileIDs = []string{
	"", "s1", "a.b-c_d", ".", "..", "../s1", "s1/..", "a/b", `a\b`, "a b", " a", "a ", "-rf", "--help", "_x", ".hidden", "a\x00b", "a\nb", "a\x1b[2J",
	"\u0430", "a\uff0fb", "a\u2215b", "a\u202eb", "a\u200db", "e\u0301", "\u212a", "\u017f", "\ufeffa", "a\u00a0", "a\u00ad", "\u0663", "\U000e0041",
	"a\xff", "a\xc0\xafb", "a\xed\xa0\x80", "s1.json", "request_s1", "s1.0123456789abcdef.1", "watcher.json", "$(id)", "a;b", "a%2fb", "gpt-5:x/y@z",
	"é", "🧪", "日本", "\u3000", "\u2028", "\ue000", "\uffff",
	strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("é", 128), strings.Repeat("é", 128) + "x",
}

// member is a request with one member more, or another one in place of a good one.
func member(text string) string {
	all := []string{`"version":1`, `"subagent_id":"s1"`, `"request_id":"r1"`, `"task":"t"`, `"workspace":"w"`, `"timeout_seconds":5`}
	name, _, _ := strings.Cut(text, ":")
	for i := range all {
		if strings.HasPrefix(all[i], name+":") {
			all[i] = text
			return "{" + strings.Join(all, ",") + "}"
		}
	}
	return "{" + strings.Join(append(all, text), ",") + "}"
}

// hostileRequests are the attacks on an outbox that are a text, by their rows of docs/THREATS.md.
var hostileRequests = map[string][]string{
	"O8": {member(`"task":"`+strings.Repeat("x", 1<<16)+`"`) + strings.Repeat(" ", 1<<10)},
	"O9": {member(`"task":"t"`)[:40], `{"version":1,"subagent_id":"s`, "{", ""},
	"O10": {
		strings.Repeat("[", 1<<14), strings.Repeat(`{"a":`, 1<<12),
		member(`"yaml_config":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + "}"),
		member(`"yaml_config":{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "}"),
		member(`"yaml_config":{"a":"` + strings.Repeat("[", 100) + `"}`),
	},
	"O11": {
		`{"task":"a",` + member(`"task":"b"`)[1:], `{"t\u0061sk":"a",` + member(`"task":"b"`)[1:], `{"Task":"a",` + member(`"TASK":"b"`)[1:],
		member(`"yaml_config":{"a":1,"a":2}`), member(`"":0,"":1`),
	},
	"O12": {
		member(`"timeout_seconds":1e309`), member(`"timeout_seconds":1e300`), member(`"timeout_seconds":-0`), member(`"timeout_seconds":"007"`),
		member(`"timeout_seconds":0.99`), member(`"timeout_seconds":2147483648`), member(`"timeout_seconds":` + strings.Repeat("9", 4000)),
		member(`"version":1.0`), member(`"version":1e0`), member(`"version":"1"`), member(`"version":true`), member(`"timeout_seconds":0x10`),
		member(`"yaml_config":{"n":[9223372036854775808,-9223372036854775809,1e400,0.1e1,-0.0,5e-324]}`),
		member(`"timeout_seconds":NaN`), member(`"timeout_seconds":Infinity`), member(`"timeout_seconds":1_0`),
	},
	"O13": {
		member(`"task":"a\u0000b"`), member(`"workspace":"a\u0000b"`), member(`"answer_file":"\u0000"`), member(`"context_paths":["\u0000"]`),
		member(`"task":"` + "\x00\x1b[2J\x7f" + `"`), member(`"request_id":"\u0007"`), member(`"model":"\u0000"`), "\x00" + member(`"task":"t"`),
	},
	"O14": {
		member(`"task":"` + "\xff" + `"`), member(`"` + "\xc0\xaf" + `":1`), member(`"task":"\ud800"`), member(`"task":"\udc00\ud800"`),
		"\xef\xbb\xbf" + member(`"task":"t"`), "\xff\xfe{\x00}\x00", member(`"subagent_id":"\ud800"`),
	},
	"O16": {member(`"subagent_id":"a b"`), member(`"subagent_id":" "`), member(`"request_id":" "`), member(`"subagent_id":"a\u00a0b"`)},
	"O32": {
		member(`"task":"t"`) + member(`"task":"u"`), member(`"task":"t"`) + "\n{}", "[" + member(`"task":"t"`) + "]", `"` + `{}` + `"`, "null", "---\nversion: 1\n",
		member(`"task":"}\n{\"version\":1"`), member(`"yaml_config":"a: b"`), member(`"yaml_config":[]`), "// c\n" + member(`"task":"t"`),
		member(`"created_at":"2026-11-21T02:14:05+99:99"`), member(`"created_at":"0000-01-01T00:00:00Z"`), member(`"created_at":"9999-12-31T23:59:59-23:59"`),
	},
	"O33": {
		member(`"task":"--dangerously-skip-permissions"`), member(`"model":"-p"`), member(`"session_id":"--resume"`), member(`"profile":"-"`),
		member(`"parent_id":"--x"`), member(`"model":"gpt-5;id"`), member(`"model":"a=b"`), member(`"model":false`), member(`"profile":7`),
	},
	"P4":  {member(`"workspace":"/` + strings.Repeat("d/", 5000) + `"`), member(`"context_paths":[` + strings.Repeat(`"/a",`, 64) + `"/a"]`)},
	"P14": {member(`"yaml_config":{"agents":[{"backend":{"COMMAND_LINE_DOCKER_image":{"x":[]}}}]}`)},
}

func addHostileRequests(f *testing.F) {
	for _, texts := range hostileRequests {
		for _, text := range texts {
			f.Add([]byte(text))
		}
	}
	for _, id := range hostileIDs {
		f.Add([]byte(member(`"subagent_id":"` + id + `"`)))
		f.Add([]byte(member(`"request_id":"` + id + `"`)))
		f.Add([]byte(member(`"model":"` + id + `"`)))
	}
	for _, row := range leniencies {
		f.Add([]byte(member(row.Given)))
	}
}

func addFiles(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// allocated is how many bytes do takes from the heap, with what the runtime takes at the same time.
func allocated(do func()) int {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return int(sample[0].Value.Uint64() - before)
}

// mostAllocated is what reading so many bytes may take: a share for each byte, and something for the runtime.
func mostAllocated(size int) int { return 1<<20 + 300*size }
