package delegation

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzDecodeRequest: no text makes it panic, and what is taken has one spelling that is read as the same value.
func FuzzDecodeRequest(f *testing.F) {
	addFiles(f, "testdata/refused/*.json")
	addFiles(f, "testdata/golden/*request*")
	for _, row := range leniencies {
		f.Add([]byte(`{"version":1,"subagent_id":"s1","task":"t","workspace":"w",` + row.Given + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		PeekIDs(data)
		got, err := DecodeRequest(data)
		if err != nil {
			if refusal, ok := err.(*Refusal); !ok || refusal.Code == "" || refusal.Text == "" || refusal.Hint == "" {
				t.Fatalf("%#v is no refusal", err)
			}
			return
		}
		roundTrip(t, got)
	})
}

// FuzzRequestRoundTrip begins with values instead of text.
func FuzzRequestRoundTrip(f *testing.F) {
	f.Add("s1", "r1", "task", "/w", "/w/answer.txt", "small", "/c", 60, int64(1), `{"a":[1,2.5,"x",null,true]}`)
	f.Add("a.b", "é", "--help", "w", "", "", "", 1, int64(-62135596800), `{}`)
	f.Add("s", "r", "\u2028<&>\x7f", "\\", "\"", "a:b", "~", 2147483647, int64(253402300799), `{"n":1e300,"m":-0.0,"k":9007199254740993}`)
	f.Fuzz(func(t *testing.T, subagent, request, task, workspace, answer, profile, path string, seconds int, created int64, yaml string) {
		r := Request{Task: task, Workspace: workspace, AnswerFile: answer, TimeoutSeconds: seconds, CreatedAt: time.Unix(created, 7).UTC()}
		if r.SubagentID.UnmarshalText([]byte(subagent)) != nil || r.RequestID.UnmarshalText([]byte(request)) != nil ||
			r.Profile.UnmarshalText([]byte(profile)) != nil {
			return
		}
		if path != "" {
			r.ContextPaths = []string{path, "/second"}
		}
		if json.Unmarshal([]byte(yaml), &r.YAMLConfig) != nil || len(r.YAMLConfig) == 0 {
			r.YAMLConfig = nil
		} else if plainFloats(r.YAMLConfig) != nil {
			return
		}
		if _, err := r.Encode(); err == nil {
			roundTrip(t, r)
		}
	})
}

// plainFloats makes the numbers of encoding/json those of this package.
func plainFloats(object map[string]any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	clear(object)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return err
	}
	return plainNumbers(object)
}

func roundTrip(t *testing.T, r Request) {
	t.Helper()
	first, err := r.Encode()
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", r, err)
	}
	again, err := DecodeRequest(first)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Fatalf("%s\nis read as %#v, %v\nnot as     %#v", first, again, err, r)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%v: two spellings:\n%s\n%s", err, first, second)
	}
}

// FuzzDecodeResponse does the same for everything that a client reads.
func FuzzDecodeResponse(f *testing.F) {
	addFiles(f, "testdata/golden/*")
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := DecodeResponse(data); err == nil {
			oneSpelling(t, got, DecodeResponse)
		}
		if got, err := DecodeRunStatus(data); err == nil {
			oneSpelling(t, got, DecodeRunStatus)
		}
		if got, err := DecodeHeartbeat(data); err == nil {
			oneSpelling(t, got, DecodeHeartbeat)
		}
		if got, err := DecodeEvents(data); err == nil {
			first, err := EncodeEvents(got)
			if err != nil {
				return // spelled out, the segment is longer than it may be
			}
			if again, err := DecodeEvents(first); err != nil || !reflect.DeepEqual(again, got) {
				t.Fatalf("%s\nis read as %+v, %v\nnot as     %+v", first, again, err, got)
			}
		}
	})
}

func oneSpelling[T interface{ Encode() ([]byte, error) }](t *testing.T, got T, decode func([]byte) (T, error)) {
	t.Helper()
	first, err := got.Encode()
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", got, err)
	}
	again, err := decode(first)
	if err != nil {
		t.Fatalf("%s cannot be read: %v", first, err)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%v: two spellings:\n%s\n%s", err, first, second)
	}
}

// FuzzParseName: a name means one thing, and that thing has this name.
func FuzzParseName(f *testing.F) {
	for _, name := range []string{
		"watcher.json", "request_s1.json", "response_.json", "status_a.b.json", "cancel_x", "events_a.0123456789abcdef.1.jsonl", ".torno-1", "x",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		kind, raw := ParseName(name)
		forms := map[Kind]string{
			KindRequest: "request_" + raw + ".json", KindResponse: "response_" + raw + ".json", KindStatus: "status_" + raw + ".json",
			KindCancel: "cancel_" + raw, KindHeartbeat: HeartbeatName, KindOther: name,
			KindEvents: "events_" + raw + strings.TrimPrefix(name, "events_"+raw),
		}
		if forms[kind] != name || kind == KindOther && raw != "" {
			t.Errorf("%q: %v of %q", name, kind, raw)
		}
		if IsTemp(name) && kind != KindOther {
			t.Errorf("%q is temporary and a %v", name, kind)
		}
		id, err := ParseSubagentID(raw)
		if response, ok := ResponseNameFor(raw); err == nil && (!ok || response != ResponseName(id)) {
			t.Errorf("%q: %q, %v", raw, response, ok)
		}
	})
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
