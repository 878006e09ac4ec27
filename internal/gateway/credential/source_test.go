package credential

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"torno/internal/gateway/route"
)

const key = "sk-secret-0123456789abcdef"

// written is a file of secrets.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func opened(t *testing.T, c route.Credential) (Source, *Known) {
	t.Helper()
	known := NewKnown()
	s, err := Open(c, known)
	if err != nil {
		t.Fatal(err)
	}
	return s, known
}

func header(t *testing.T, s Source) string {
	t.Helper()
	_, value, err := s.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestARotationCountsAtOnce: a file is read for each request.
func TestARotationCountsAtOnce(t *testing.T) {
	path := written(t, key+"\n")
	s, _ := opened(t, route.Credential{Kind: "file", Path: path, Header: "authorization", Prefix: "Bearer "})
	if got := header(t, s); got != "Bearer "+key {
		t.Errorf("%q", got)
	}
	next := written(t, "another-"+key)
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	if got := header(t, s); got != "Bearer another-"+key {
		t.Errorf("after the rotation: %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Header(t.Context()); err == nil {
		t.Error("a secret that was taken away still counts")
	}
}

// TestSystemdCredentials come from the unit's own directory.
func TestSystemdCredentials(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := Open(route.Credential{Kind: "systemd", Name: "key"}, NewKnown()); err == nil || !strings.Contains(err.Error(), "LoadCredential") {
		t.Errorf("without a directory: %v", err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(written(t, key)))
	s, _ := opened(t, route.Credential{Kind: "systemd", Name: "key", Header: "x-api-key"})
	if got := header(t, s); got != key {
		t.Errorf("%q", got)
	}
}

// TestBadSecrets: each is refused in words, and without a byte of it.
func TestBadSecrets(t *testing.T) {
	open := written(t, key)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	mkfifo(t, fifo)
	for name, c := range map[string]route.Credential{
		"missing":         {Path: filepath.Join(t.TempDir(), "no")},
		"readable by all": {Path: open},
		"a directory":     {Path: t.TempDir()},
		"a pipe":          {Path: fifo},
		"empty":           {Path: written(t, "\n")},
		"short":           {Path: written(t, "1234567")},
		"two lines":       {Path: written(t, key+"\r\nHost: evil\n")},
		"a NUL":           {Path: written(t, key+"\x00")},
		"huge":            {Path: written(t, strings.Repeat(key, 10000))},
		"a failure":       {Command: []string{"/bin/sh", "-c", "echo " + key + "; echo " + key + " >&2; exit 3"}},
		"endless":         {Command: []string{"/bin/sh", "-c", "while :; do echo " + key + "; done"}},
		"no program":      {Command: []string{"/no/such/program", key}},
		"an odd object":   {Command: []string{"/bin/sh", "-c", `echo '{"value": ["` + key + `"]}'`}},
	} {
		c.Kind, c.Header = "file", "x-api-key"
		s, _ := opened(t, c)
		_, value, err := s.Header(t.Context())
		if err == nil || value != "" {
			t.Errorf("%s is taken", name)
			continue
		}
		if name == "endless" && !strings.Contains(err.Error(), "prints more than") {
			t.Errorf("an endless command ends with %v", err)
		}
		if strings.Contains(err.Error(), key[:8]) {
			t.Errorf("%s: the secret is in the error: %v", name, err)
		}
	}
}

// TestApply: exactly one header, whatever the client had.
func TestApply(t *testing.T) {
	s, _ := opened(t, route.Credential{Kind: "file", Path: written(t, key), Header: "x-api-key"})
	none, _ := opened(t, route.Credential{})
	for _, test := range []struct {
		source Source
		want   string
	}{{s, key}, {none, ""}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://up.example/v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {"dummy", "two"}, "Authorization": {"Bearer dummy"}, "Cookie": {"a=b"}, "Accept": {"*/*"}}
		if err := Apply(t.Context(), test.source, req, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(req.Header.Values("X-Api-Key"), ","); got != test.want || req.Header.Get("Authorization")+req.Header.Get("Cookie") != "" {
			t.Errorf("%v", req.Header)
		}
	}
}

// counted is a command that counts how often it runs.
func counted(t *testing.T, prints string) (route.Credential, func() int) {
	t.Helper()
	count := filepath.Join(t.TempDir(), "count")
	c := route.Credential{Kind: "command", Header: "x-api-key", Command: []string{"/bin/sh", "-c", "echo x >> " + count + "; " + prints}}
	return c, func() int {
		text, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "x")
	}
}

// TestACommandRunsOnce: for many requests at once, for those that come later, and for an upstream that refuses all the time.
func TestACommandRunsOnce(t *testing.T) {
	for name, prints := range map[string]string{
		"a secret":        "echo " + key,
		"one that ended":  `echo '{"value": "` + key + `", "expires": "2001-01-01T00:00:00Z"}'`,
		"one that lasts":  `echo '{"value": "` + key + `", "expires": "2101-01-01T00:00:00Z"}'`,
		"one that failed": "exit 1",
	} {
		c, ran := counted(t, prints)
		s, _ := opened(t, c)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, _, _ = s.Header(context.Background())
				s.Refused(context.Background())
			})
		}
		all.Wait()
		if n := ran(); n != 1 {
			t.Errorf("%s: the command ran %d times", name, n)
		}
	}
}

// TestACommandKnowsLittle: it has no part of the gateway's environment that it does not need.
func TestACommandKnowsLittle(t *testing.T) {
	t.Setenv("OTHER_SECRET", "in-the-environment")
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x")
	s, _ := opened(t, route.Credential{Kind: "command", Header: "x", Command: []string{"/bin/sh", "-c", "env | tr '\\n ' ,,"}})
	if got := header(t, s); strings.Contains(got, "in-the-environment") || strings.Contains(got, "/run/credentials") || !strings.Contains(got, "PATH=") {
		t.Errorf("the environment: %q", got)
	}
}

// TestASecretIsNeverShown: in no form of formatting, also inside of what holds it.
func TestASecretIsNeverShown(t *testing.T) {
	s, _ := opened(t, route.Credential{Kind: "command", Header: "x-api-key", Command: []string{"/bin/echo", key}})
	header(t, s)
	var logged strings.Builder
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	secret := secretOf(key)
	log.Info("", "secret", secret, "pointer", &secret)
	text := logged.String() + fmt.Sprintf("%v %+v %#v %s %q %x %d", secret, secret, secret, secret, secret, secret, secret)
	for _, v := range []any{s.(*plain).kept, s.(*plain).kept.value, []Secret{secret}, map[string]Secret{"a": secret}, struct{ s Secret }{secret}} {
		text += fmt.Sprintf("%v %+v %#v %s %q %x", v, v, v, v, v, v)
	}
	if strings.Contains(text, key[:8]) || strings.Contains(text, fmt.Sprintf("%x", key)) {
		t.Errorf("the secret is shown: %s", text)
	}
}

// TestScrub: what an upstream says of our secret is not told on.
func TestScrub(t *testing.T) {
	known := NewKnown()
	const odd = `pa"ss/wo+rd=&%word`
	known.add(key)
	known.add(odd)
	known.add("short")
	for text, want := range map[string]string{
		"":                                 "",
		"nothing to see, and short is not": "nothing to see, and short is not",
		"invalid key " + key + "!":         "invalid key (secret)!",
		key + key:                          "(secret)(secret)",
		"ends with " + key[9:]:             "ends with (secret)",
		"a piece " + key[3:16] + "…":       "a piece (secret)…",
		"too small a piece " + key[3:12]:   "too small a piece " + key[3:12],
		"hex 736b2d7365637265742d303132":   "hex (secret)",
		"base64 c2stc2VjcmV0LTAxMjM0":      "base64 (secret)",
		`json pa\"ss/wo+rd=\u0026%word`:    "json (secret)",
		"query pa%22ss%2Fwo%2Brd%3D":       "query (secret)",
	} {
		if got := known.Scrub(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	for i := range 100 {
		known.add(fmt.Sprintf("a secret of its own: %d", i))
	}
	if got := known.Scrub("the last: a secret of its own: 99"); strings.Contains(got, "own") || len(known.forms) > mostOld {
		t.Errorf("%q, and %d are remembered", got, len(known.forms))
	}
	if got := known.Scrub(strings.Repeat("x", 1<<20)); len(got) != maxScrub {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzScrub: no piece of a secret is left, wherever it stands.
func FuzzScrub(f *testing.F) {
	f.Add("before ", key, " after", 3, 20)
	f.Fuzz(func(t *testing.T, before, secret, after string, from, to int) {
		if len(secret) > 200 || len(before)+len(after) > 500 {
			return
		}
		known := NewKnown()
		known.add(secret)
		if from < 0 || to > len(secret) || to-from < piece {
			return
		}
		got := known.Scrub(before + secret[from:to] + after)
		for i := 0; i+piece <= len(secret); i++ {
			p := secret[i : i+piece]
			if strings.Contains(got, p) && !strings.Contains(hidden+hidden, p) && !strings.Contains(p, "(secret)") {
				t.Fatalf("%q is left in %q", p, got)
			}
		}
	})
}

// TestASecretInUseIsRemembered: a value that is kept, and not read for each request, is not forgotten beside many others that are.
func TestASecretInUseIsRemembered(t *testing.T) {
	s, known := opened(t, route.Credential{Kind: "command", Command: []string{"/bin/echo", key}, Header: "authorization"})
	for i := range 2 * mostOld {
		header(t, s)
		known.add(fmt.Sprintf("one of others %04d", i))
	}
	if said := known.Scrub("the upstream says " + key); strings.Contains(said, key) {
		t.Error(said)
	}
	if len(known.forms) > mostOld {
		t.Errorf("%d secrets are remembered", len(known.forms))
	}
}

// TestACredentialIsHeld (H25): a file or a command that another user can exchange is neither read nor run.
func TestACredentialIsHeld(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOTHING WAS TRIED: only root gives directories away")
	}
	ran := filepath.Join(t.TempDir(), "ran")
	path := written(t, "#!/bin/sh\ntouch "+ran+"; echo "+key+"\n")
	for what, c := range map[string]route.Credential{
		"file":    {Kind: "file", Path: path, Header: "x-api-key"},
		"command": {Kind: "command", Command: []string{path}, Header: "x-api-key"},
		"script":  {Kind: "command", Command: []string{"/bin/sh", path}, Header: "x-api-key"},
	} {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Dir(path), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		s, _ := opened(t, c)
		_, value, err := s.Header(t.Context())
		if err == nil || !strings.Contains(err.Error(), "belongs to user 4711") {
			t.Errorf("%s: %q, %v", what, value, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: it ran", what)
		}
		if err := os.Chown(filepath.Dir(path), 0, 0); err != nil {
			t.Fatal(err)
		}
		if s, _ = opened(t, c); what == "command" && header(t, s) != key {
			t.Error("the command is not run where it is held")
		}
		_ = os.Remove(ran)
	}
}
