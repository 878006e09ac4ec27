package control

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

func TestEvents(t *testing.T) {
	event := delegation.Event{Seq: 58, Time: time.Now().UTC(), Type: delegation.EventText, Text: "hi \u2028"}
	gap := delegation.MissingEvents(3, 57, event.Time)
	d := &desk{events: []EventLine{{Event: &gap}, {Event: &event}, {End: &EventsEnd{Newest: 58, Over: true}}}}
	client, _ := open(t, d)
	var heard []EventLine
	want := EventQuery{Since: 2, Follow: true}
	err := client.Events(t.Context(), "main/../s1", want, func(l EventLine) error { heard = append(heard, l); return nil })
	if err != nil || d.wanted != want || d.ref != "main/../s1" || len(heard) != 3 {
		t.Fatalf("%+v, %v for %+v of %q", heard, err, d.wanted, d.ref)
	}
	if m := heard[0].Event.Missing; m == nil || *m != (delegation.Missing{First: 3, Last: 57}) || heard[1].Event.Text != event.Text || !heard[2].End.Over {
		t.Errorf("heard %+v", heard)
	}
	client, _ = open(t, &desk{err: fmt.Errorf("%w: k", ErrNoEvents)}) // another desk: the first one may still be returning from Events
	if err := client.Events(t.Context(), "s1", EventQuery{}, nil); !errors.Is(err, ErrNoEvents) {
		t.Error(err)
	}
	if err := client.Events(t.Context(), "s1", EventQuery{Since: -1}, nil); !errors.Is(err, ErrSince) {
		t.Error(err)
	}
}

// TestEventsWithoutAnEndBrokeOff, also where the last line came whole.
func TestEventsWithoutAnEndBrokeOff(t *testing.T) {
	event := delegation.Event{Seq: 1, Type: delegation.EventText}
	for _, failed := range []error{nil, errors.New("boom")} {
		client, _ := open(t, &desk{events: []EventLine{{Event: &event}}, err: failed})
		err := client.Events(t.Context(), "s1", EventQuery{}, func(EventLine) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "broke off") {
			t.Errorf("with %v it ends with %v", failed, err)
		}
	}
}
