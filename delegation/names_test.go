package delegation

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	id, request := subagentID(t, "s1.json"), requestID(t, "../r")
	for _, c := range []struct {
		name string
		kind Kind
	}{
		{RequestName(id), KindRequest},
		{ResponseName(id), KindResponse},
		{CancelName(id), KindCancel},
		{StatusName(id), KindStatus},
		{EventsName(id, request, 12), KindEvents},
	} {
		if kind, raw := ParseName(c.name); kind != c.kind || raw != "s1.json" {
			t.Errorf("%s: %v of %q", c.name, kind, raw)
		}
		if err := checkName(c.name); err != nil {
			t.Error(err)
		}
	}
	raw, hash, seq, ok := ParseEventsName(EventsName(id, request, 12))
	if !ok || raw != "s1.json" || hash != request.Hash() || seq != 12 {
		t.Errorf("got %q, %q, %d, %v", raw, hash, seq, ok)
	}
}

func TestParseName(t *testing.T) {
	const hash = "0123456789abcdef"
	for name, want := range map[string]struct {
		kind Kind
		raw  string
	}{
		"watcher.json":                     {KindHeartbeat, ""},
		"request_.json":                    {KindRequest, ""},
		"request_a b\n.json":               {KindRequest, "a b\n"},
		"request_request_x.json.json":      {KindRequest, "request_x.json"},
		"cancel_":                          {KindCancel, ""},
		"cancel_s1":                        {KindCancel, "s1"},
		"cancel_request_s1.json":           {KindCancel, "request_s1.json"},
		"events_." + hash + ".1.jsonl":     {KindEvents, ""},
		"events_a.b." + hash + ".10.jsonl": {KindEvents, "a.b"},
		// What others leave: nothing of it is a request.
		"":                                                  {KindOther, ""},
		"request_":                                          {KindOther, ""},
		"request.json":                                      {KindOther, ""},
		"request_s1.json.tmp":                               {KindOther, ""},
		".request_s1.json":                                  {KindOther, ""},
		"request_s1.JSON":                                   {KindOther, ""},
		"Request_s1.json":                                   {KindOther, ""},
		"request_s1.json~":                                  {KindOther, ""},
		"watcher.json.tmp":                                  {KindOther, ""},
		"input_s1." + hash + ".1.json":                      {KindInput, "s1"},
		"input_s1." + hash + ".0.json":                      {KindOther, ""},
		"input_s1." + hash + ".01.json":                     {KindOther, ""},
		"input_s1.1.json":                                   {KindOther, ""},
		"events_s1." + hash + ".0.jsonl":                    {KindOther, ""},
		"events_s1." + hash + ".01.jsonl":                   {KindOther, ""},
		"events_s1." + hash + ".-1.jsonl":                   {KindOther, ""},
		"events_s1." + hash + ".+1.jsonl":                   {KindOther, ""},
		"events_s1." + hash + ".1e3.jsonl":                  {KindOther, ""},
		"events_s1.0123456789ABCDEF.1.jsonl":                {KindOther, ""},
		"events_s1.short.1.jsonl":                           {KindOther, ""},
		"events_" + hash + ".1.jsonl":                       {KindOther, ""},
		"events_s1." + hash + ".99999999999999999999.jsonl": {KindOther, ""},
	} {
		if kind, raw := ParseName(name); kind != want.kind || raw != want.raw {
			t.Errorf("%q: %v of %q, want %v of %q", name, kind, raw, want.kind, want.raw)
		}
	}
}

func TestResponseNameFor(t *testing.T) {
	longest := strings.Repeat("x", 255-len("response_.json"))
	for _, raw := range []string{"", "s1", "..", "a b", "a\nb", "\xff", longest} {
		if name, ok := ResponseNameFor(raw); !ok || name != "response_"+raw+".json" {
			t.Errorf("%q: %q, %v", raw, name, ok)
		}
	}
	// The longest request of all has an id for which no response name fits.
	if name, ok := ResponseNameFor(longest + "x"); ok {
		t.Errorf("%d bytes are taken", len(name))
	}
}

func TestIsTemp(t *testing.T) {
	for _, name := range []string{".torno-1", ".torno-9223372036854775807"} {
		if kind, _ := ParseName(name); !IsTemp(name) || kind != KindOther {
			t.Errorf("%q is not taken as temporary", name)
		}
	}
	for _, name := range []string{"", ".torno-", ".torno-x", ".torno-1x", "torno-1", ".torno-1.json", ".torno-1/..", "request_s1.json"} {
		if IsTemp(name) {
			t.Errorf("%q is taken as temporary", name)
		}
	}
}

func TestKindNames(t *testing.T) {
	var names []string
	for kind := KindOther; kind <= KindHeartbeat; kind++ {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != int(KindHeartbeat)+1 {
		t.Error(names)
	}
}
