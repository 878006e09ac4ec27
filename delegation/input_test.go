package delegation

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDecodeInput(t *testing.T) {
	id, request := subagentID(t, "s1"), requestID(t, "r1")
	good := Input{Version: 1, SubagentID: "s1", RequestID: "r1", N: 3, Kind: InputMessage, Text: "é\n\u2028"}
	data, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeInput(data, id, request, 3); err != nil || got != good {
		t.Errorf("%+v, %v", got, err)
	}
	for change, code := range map[[2]string]Code{
		{`"version": 1`, `"version": 2`}:          CodeInvalid,
		{`"s1"`, `"s2"`}:                          CodeIDMismatch,
		{`"s1"`, `"../s1"`}:                       CodeInvalid,
		{`"r1"`, `"r2"`}:                          CodeIDMismatch,
		{`"n": 3`, `"n": 4`}:                      CodeIDMismatch,
		{`"n": 3`, `"n": 0`}:                      CodeInvalid,
		{`"n": 3`, `"n": 1e3`}:                    CodeUnparsable,
		{`"n": 3`, `"n": "3"`}:                    CodeUnparsable,
		{`"n": 3`, `"N": 3`}:                      CodeUnparsable,
		{`"message"`, `"decision"`}:               CodeInvalid,
		{`"message"`, `null`}:                     CodeUnparsable,
		{`"message"`, `"message", "kind": "x"`}:   CodeUnparsable,
		{`"é`, "\"\xff"}:                          CodeUnparsable,
		{`"é`, `"` + strings.Repeat("x", 64<<10)}: CodeInvalid,
		{`{`, `{"text": "",`}:                     CodeUnparsable,
		{`}`, `} x`}:                              CodeUnparsable,
		{`}`, ``}:                                 CodeUnparsable,
	} {
		text := strings.Replace(string(data), change[0], change[1], 1)
		_, err := DecodeInput([]byte(text), id, request, 3)
		refusal, ok := errors.AsType[*Refusal](err)
		if !ok || refusal.Code != code || refusal.Text == "" || refusal.Hint == "" {
			t.Errorf("%s for %s: %v (%+v)", change[1][:min(40, len(change[1]))], change[0], err, refusal)
		}
	}
	if _, err := (Input{Version: 1, SubagentID: "s1", RequestID: "r1", N: 1, Kind: InputMessage}).Encode(); err == nil {
		t.Error("a message without a text is written")
	}
}

// TestPublishNew: of many writers that want one name, one gets it, and what it wrote stays.
func TestPublishNew(t *testing.T) {
	dir := newOutbox(t)
	var got atomic.Int32
	var writers sync.WaitGroup
	for i := range 20 {
		writers.Go(func() {
			switch err := dir.PublishNew("name", []byte{byte('a' + i)}); {
			case err == nil:
				got.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	writers.Wait()
	first, _, err := dir.Read("name", 1)
	if err != nil || got.Load() != 1 {
		t.Errorf("%d writers got the name: %v", got.Load(), err)
	}
	if err := dir.linkNew("name", "name"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("linked over itself: %v", err)
	}
	if again, _, err := dir.Read("name", 1); err != nil || string(again) != string(first) {
		t.Errorf("%q, then %q: %v", first, again, err)
	}
	if left := entries(t, dir); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}
