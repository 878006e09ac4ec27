package delegation

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A watcher that is alive does not look dead because of a word that its client does not understand.
func TestNoticesAreTakenLeniently(t *testing.T) {
	const head = `{"version":1,"protocol":1,"beat_at":"2026-11-21T02:15:11Z","heartbeat_seconds":2,"notices":`
	disk := Notice{Code: NoticeDisk, Text: "the disk is full"}
	const good = `{"code":"disk","text":"the disk is full"}`
	for given, want := range map[string]Notices{
		`null`: nil, `[]`: nil, `"disk"`: nil, `{"code":"disk"}`: nil, `7`: nil,
		`[` + good + `]`: {disk},
		`[7,null,[],{},{"code":"disk"},{"text":"x"},{"code":"A B","text":"x"},{"code":"disk","text":"  "},` + good + `]`:          {disk},
		`[{"code":"disk","text":7},{"code":"disk","text":"x","since":"soon"},{"code":"disk","text":"x","text":"y"},` + good + `]`: {disk},
		`[{"code":"of_the_future","text":"x","more":1}]`:                                                                          {{Code: "of_the_future", Text: "x"}},
		`[{"code":"disk","text":"a\nwatcher: b\t\u001b[2J\u202e"}]`:                                                               {{Code: "disk", Text: "a watcher: b \uFFFD[2J\uFFFD"}},
		`[{"code":"disk","text":"x","since":"2026-11-21T02:15:11.002913Z"}]`:                                                      {{Code: "disk", Text: "x", Since: instant}},
		`[{"code":"disk","text":"` + strings.Repeat("ä", 400) + `"}]`:                                                             {{Code: "disk", Text: strings.Repeat("ä", 250)}},
		`[` + strings.Repeat("7,", 4*maxNotices) + good + `]`:                                                                     nil,
		`[` + strings.Repeat(good+",", 4*maxNotices) + `{"code":"z","text":1}]`:                                                   repeated(disk, maxNotices),
	} {
		beat, err := DecodeHeartbeat([]byte(head + given + `}`))
		if err != nil || !reflect.DeepEqual(beat.Notices, want) {
			t.Errorf("%.200s: got %+v, %v; want %+v", given, beat.Notices, err, want)
		}
	}
}

func repeated(n Notice, times int) (list Notices) {
	for range times {
		list = append(list, n)
	}
	return list
}

// What a watcher may say is what a client can read.
func TestNoticesAreWrittenTidily(t *testing.T) {
	beat := fullHeartbeat()
	beat.Notices = nil
	for n := range 2 * maxNotices {
		beat.Notices = append(beat.Notices, Notice{Code: NoticeLauncher, Text: fmt.Sprint("line\n", n)}, Notice{Code: "No code", Text: "x"})
	}
	data, err := beat.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeHeartbeat(data)
	if err != nil || len(got.Notices) != maxNotices || got.Notices[1] != (Notice{Code: NoticeLauncher, Text: "line 1"}) {
		t.Errorf("%+v, %v", got.Notices, err)
	}
}
