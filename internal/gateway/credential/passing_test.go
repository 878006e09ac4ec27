package credential

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"torno/internal/gateway/route"
)

// TestWhatPasses: a failure that the next reading may not meet is told from one that lasts, also where a warden met it, and says when the next
// reading may be.
func TestWhatPasses(t *testing.T) {
	open := written(t, "file-0123456789")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		of     route.Credential
		passes bool
	}{
		"a command that fails":       {route.Credential{Kind: "command", Command: []string{"/bin/sh", "-c", "exit 7"}, Header: "x"}, true},
		"a command that is missing":  {route.Credential{Kind: "command", Command: []string{"/no/such/command"}, Header: "x"}, false},
		"a command without a secret": {route.Credential{Kind: "command", Command: []string{"/bin/true"}, Header: "x"}, false},
		"a file that is missing":     {route.Credential{Kind: "file", Path: open + ".not", Header: "x"}, false},
		"a file for everybody":       {route.Credential{Kind: "file", Path: open, Header: "x"}, false},
		"a key of AWS":               {route.Credential{Kind: "aws", Command: []string{"/bin/sh", "-c", "exit 7"}, Region: "r"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			here, _ := opened(t, test.of)
			there, err := accessTo(t, routed("r", test.of)).Open(routed("r", test.of), NewKnown())
			if err != nil {
				t.Fatal(err)
			}
			for where, s := range map[string]Source{"here": here, "by a warden": there} {
				for range 2 { // the second time it is kept
					request, err := http.NewRequest(http.MethodGet, "https://a.example", nil)
					if err != nil {
						t.Fatal(err)
					}
					err = Apply(t.Context(), s, request, nil)
					p, passes := errors.AsType[*Passing](err)
					if err == nil || passes != test.passes {
						t.Errorf("%s: passes %t: %v", where, passes, err)
					}
					if passes && time.Until(p.At) > calm {
						t.Errorf("%s: the next reading may be at %s", where, p.At)
					}
				}
			}
		})
	}
}

// TestWhatPassesOfALogin: a network, a busy server and an answer that breaks off do; a refusal does not.
func TestWhatPassesOfALogin(t *testing.T) {
	said := func(status int, body io.Reader) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: io.NopCloser(body)}, nil
		}
	}
	for name, test := range map[string]struct {
		send   func(*http.Request) (*http.Response, error)
		passes bool
	}{
		"no network":     {func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }, true},
		"500":            {said(500, strings.NewReader("")), true},
		"429":            {said(429, strings.NewReader("")), true},
		"a broken end":   {said(200, iotest.ErrReader(io.ErrUnexpectedEOF)), true},
		"a refusal":      {said(400, strings.NewReader("")), false},
		"without tokens": {said(200, strings.NewReader("{}")), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := loginOf(t, "claude", claudes("access-token-0", "refresh-token-0", time.Now().Add(-time.Hour)), &server{})
				l.send = test.send
				_, _, err := l.Header(t.Context())
				p, passes := errors.AsType[*Passing](err)
				if err == nil || passes != test.passes {
					t.Fatalf("passes %t: %v", passes, err)
				}
				if !passes {
					return
				}
				if wait := time.Until(p.At); wait != calm {
					t.Errorf("the next reading may be behind %s", wait)
				}
				s := &server{good: "refresh-token-0"}
				l.send = s.send
				time.Sleep(calm)
				if got := header(t, l); got != "Bearer access-token-1" {
					t.Errorf("then it is %q", got)
				}
			})
		})
	}
}
