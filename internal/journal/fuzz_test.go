package journal

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// FuzzRow: whatever stands in a hostile entry comes back from the journal as it was, is found again by its name, and
// touches no other row.
func FuzzRow(f *testing.F) {
	for _, text := range []string{
		"", "s1", "a'b", `a"b`, "'; DROP TABLE runs; --", "a\x00b", "\xff\xfe", "ü\u2028\u202e", "%", "_", "*", "[a-z]", "?", "$1", ":a", "@b", "NULL", "\n", strings.Repeat("x", 300), strings.Repeat("é", 200), "0", "1e3",
	} {
		f.Add(text, text, "request_"+text+".json", int64(7), uint64(7))
		f.Add("x", text, text, int64(-1), uint64(1<<63))
	}
	j, ctx := open4test(f, state(f)), context.Background()
	other := begin(f, j, queued(f, "main", "other", "r"))
	other = get(f, j, other.Key)
	f.Fuzz(func(t *testing.T, subagent, request, name string, n int64, ino uint64) {
		exit := int(n)
		r := Run{
			Outbox: "main", SubagentText: subagent, RequestText: request, FileName: name, State: delegation.StateEnded, Reason: delegation.ReasonRefused,
			Stamp: delegation.Stamp{Ino: ino, Size: n, ModTime: time.Unix(0, n).UTC(), ChangeTime: time.Unix(0, ^n).UTC()},
			Code:  delegation.CodeBadID, Field: "subagent_id", Text: "no id", StdoutTail: subagent, StderrTail: request, ExitCode: &exit,
			Warnings: []string{"one", strings.ToValidUTF8(name, "?")}, Created: time.Unix(1, n&0xffff).UTC(),
		}
		r.Key = EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content)
		known, err := j.Begin(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if known != nil {
			return // the same entry with another text is the same entry
		}
		got := get(t, j, r.Key)
		r.SubagentText, r.RequestText, r.Seq = subagent[:min(len(subagent), 255)], request[:min(len(request), 255)], got.Seq
		if !reflect.DeepEqual(got, r) {
			t.Errorf("wrote %#v\nread  %#v", r, got)
		}
		found, ok, err := j.ByFile(ctx, "main", name, r.Stamp)
		if err != nil || !ok || found.Key != r.Key {
			t.Errorf("%q is found as %+v (%t), %v", name, found, ok, err)
		}
		if runs, err := j.Named(ctx, "main", r.SubagentText); err != nil || len(runs) == 0 || runs[0].SubagentText != r.SubagentText && runs[0].Subagent.String() != r.SubagentText {
			t.Errorf("by the name %q are found %+v, %v", r.SubagentText, runs, err)
		}
		if now := get(t, j, other.Key); !reflect.DeepEqual(now, other) {
			t.Errorf("another row became %#v", now)
		}
	})
}
