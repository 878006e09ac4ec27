package gateway

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"torno/internal/gateway/credential"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
)

// TestACredentialThatCannotBeHad: what passes by itself is a 503 with a time, after which clients try again; what only the operator can mend is
// a 400, which they show. Nothing leaves, and nothing is charged.
func TestACredentialThatCannotBeHad(t *testing.T) {
	for name, test := range map[string]struct {
		of     route.Credential
		status int
		code   string
	}{
		"a command that fails":   {route.Credential{Kind: "command", Command: []string{"/bin/sh", "-c", "exit 7"}, Header: "X-Api-Key"}, http.StatusServiceUnavailable, "credential_later"},
		"a file that is missing": {route.Credential{Kind: "file", Path: filepath.Join(t.TempDir(), "key"), Header: "X-Api-Key"}, http.StatusBadRequest, "credential"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			up := r.upstream("claude", "anthropic")
			source, err := credential.Open(test.of, credential.NewKnown())
			if err != nil {
				t.Fatal(err)
			}
			up.Credential = source
			table, err := prices.Parse(nil)
			if err != nil {
				t.Fatal(err)
			}
			r.g.Use([]*Upstream{up}, table)
			s := spec("run")
			s.Routes = s.Routes[:1]
			c := r.open(s)
			for range 2 {
				answer, err := c.Do(ask(messages, "hello", false))
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
				if later := test.status == http.StatusServiceUnavailable; answer.StatusCode != test.status || later != (wait >= 1 && wait <= 10) {
					t.Errorf("%d, Retry-After %d", answer.StatusCode, wait)
				}
			}
			if e := r.event(1); e.Code != test.code || e.Cost.OutputTokens != 0 {
				t.Errorf("the event is %+v", e)
			}
			if n := len(r.up.Seen()); n != 0 {
				t.Errorf("%d requests left", n)
			}
		})
	}
}
