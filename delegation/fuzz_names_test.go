package delegation

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzParseIDs holds the three types against a regular expression and the tables of Unicode, by every way into them.
func FuzzParseIDs(f *testing.F) {
	for _, id := range hostileIDs {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseSubagentID(text)
		checkParsed(t, text, id.String(), err, reference["id"].MatchString(text))
		request, err := ParseRequestID(text)
		checkParsed(t, text, request.String(), err, printable(text))
		token, err := ParseToken(text)
		checkParsed(t, text, token.String(), err, reference["token"].MatchString(text))
		checkJSONWay(t, text)
		if !id.IsZero() && !request.IsZero() {
			checkNames(t, id, request)
		}
	})
}

func checkParsed(t *testing.T, text, parsed string, err error, good bool) {
	t.Helper()
	switch {
	case good != (err == nil):
		t.Errorf("%q: %v, and it is good: %t", text, err, good)
	case good && parsed != text || !good && parsed != "":
		t.Errorf("%q is taken as %q", text, parsed)
	case err != nil && (len(err.Error()) > 200 || !utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), unicode.IsControl)):
		t.Errorf("%q: this is no sentence: %q", text, err)
	}
}

// checkJSONWay fills the types from JSON, which must not lead past the parser.
func checkJSONWay(t *testing.T, text string) {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil || !utf8.ValidString(text) {
		return
	}
	var id SubagentID
	var request RequestID
	var token Token
	for form, err := range map[string]error{"id": json.Unmarshal(data, &id), "token": json.Unmarshal(data, &token)} {
		if good := reference[form].MatchString(text) || form == "token" && text == ""; good != (err == nil) {
			t.Errorf("%s as JSON of a %s: %v, and it is good: %t", data, form, err, good)
		}
	}
	if err := json.Unmarshal(data, &request); printable(text) != (err == nil) {
		t.Errorf("%s as JSON of a request_id: %v", data, err)
	}
}

// checkNames makes every name of an id: each is one entry of a directory, and leads back to the id.
func checkNames(t *testing.T, id SubagentID, request RequestID) {
	t.Helper()
	for kind, name := range map[Kind]string{
		KindRequest: RequestName(id), KindResponse: ResponseName(id), KindCancel: CancelName(id), KindStatus: StatusName(id),
		KindEvents: EventsName(id, request, maxNumber),
	} {
		if got, raw := ParseName(name); got != kind || raw != id.String() {
			t.Errorf("%q is a %v of %q", name, got, raw)
		}
		if len(name) > 255 || strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") || IsTemp(name) {
			t.Errorf("%q is not the name of ours", name)
		}
	}
	if _, _, _, ok := ParseEventsName(EventsName(id, request, maxNumber+1)); ok {
		t.Errorf("%s has a segment that no run comes to", id)
	}
	if _, hash, seq, ok := ParseEventsName(EventsName(id, request, 7)); !ok || hash != request.Hash() || seq != 7 {
		t.Errorf("%q, %d, %v", hash, seq, ok)
	}
}

// FuzzParseName: a name means one thing, and that thing has this name. Its answer is an entry of the same directory.
func FuzzParseName(f *testing.F) {
	for _, name := range []string{
		"watcher.json", "request_s1.json", "response_.json", "status_a.b.json", "cancel_x", "events_a.0123456789abcdef.1.jsonl", ".torno-1", "x",
		"request_../../x.json", "events_a.0123456789abcdef.01.jsonl", "events_.0123456789abcdef.1.jsonl", ".torno-1/..", "request_" + strings.Repeat("x", 300) + ".json",
	} {
		f.Add(name)
	}
	for _, id := range hostileIDs {
		f.Add("request_" + id + ".json")
		f.Add("cancel_" + id)
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
		if kind == KindRequest {
			checkAnswerName(t, raw)
		}
	})
}

// checkAnswerName: whatever stands in a request's name, its response is one entry beside it, and no other's.
func checkAnswerName(t *testing.T, raw string) {
	t.Helper()
	name, ok := ResponseNameFor(raw)
	if id, err := ParseSubagentID(raw); err == nil && (!ok || name != ResponseName(id)) {
		t.Errorf("%q: %q, %v", raw, name, ok)
	}
	if entry := len(name) <= 255 && !strings.ContainsAny(name, "/\x00"); ok != entry {
		t.Errorf("%q is an entry: %t, and it is taken: %t", name, entry, ok)
	}
	if kind, back := ParseName(name); kind != KindResponse || back != raw {
		t.Errorf("%q is a %v of %q", name, kind, back)
	}
}
