package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/attack"
	"torno/test/house"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
	"torno/test/upstream/standin"
)

// TestAChildFindsNoCredential: while its door is open and a request is under way, a child looks for pieces of two credentials in
// its environment, in every file, in the memory of the processes that it may read, and in all the answers and errors that it got,
// of an upstream that says what it was sent among them. By the same search it finds what was put into each of these places for it.
func TestAChildFindsNoCredential(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := newSecretScene(t, sandbox)
		answers := s.Mkdir(s.Path("workspaces/a/answers"))
		errand, err := json.Marshal(s.errand())
		s.Must(err)
		s.Must(os.WriteFile(s.Path("workspaces/a/errand"), errand, 0o644))
		s.Must(os.WriteFile(s.Path("workspaces/a/planted"), []byte("behind"+s.planted["file"]), 0o644))
		resp := s.Run(house.Ask{ID: "a", Profile: "prober", Timeout: 50, Task: "search"})
		s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.answersAreReal(answers)
		var found inside.Found
		if err := json.Unmarshal([]byte(resp.StdoutTail), &found); err != nil {
			t.Fatalf("what it found: %v: %q", err, resp.StderrTail)
		}
		t.Logf("%d files and %d bytes; the memory of %v, and not of %v", found.Files, found.Bytes, found.Memories, found.Closed)
		s.judge(sandbox, found)
		s.hostSaysNone()
	})
}

// judge demands that none of the credentials was found, and everything that was planted, at its place.
func (s *secretScene) judge(sandbox string, found inside.Found) {
	s.Helper()
	trial := attack.Trial{Row: "G46", Where: sandbox, Oracle: true}
	for _, secret := range s.secrets() {
		places := found.Places[secret.Name]
		if at, planted := plantedAt[secret.Name]; planted {
			if !strings.Contains(strings.Join(places, "\n"), at) {
				s.Errorf("the child did not find the planted %s at %s, but at %q", secret.Name, at, places)
				trial.Oracle = false
			}
			continue
		}
		trial.Tried++
		if len(places) == 0 {
			trial.Held++
		} else {
			s.Errorf("the child found %s: %q", secret.Name, places)
		}
	}
	attack.Record(s, trial)
}

// plantedAt says where what is planted has to be found, by its name.
var plantedAt = map[string]string{"environment": "/environ", "memory": "the memory of ", "file": "/planted", "answer": "/answers/plain"}

// secretScene has routes with two credentials, of which the upstream takes only one.
type secretScene struct {
	*house.House
	up          *standin.Upstream
	url         string
	keys        string // the directory with the credentials
	credentials [2]string
	planted     map[string]string // by its name
}

func newSecretScene(t *testing.T, sandbox string) *secretScene {
	t.Helper()
	house.Need(t, sandbox)
	s := &secretScene{keys: t.TempDir(), planted: map[string]string{}}
	for i := range s.credentials {
		s.credentials[i] = "sk-torno-" + random()
		if err := os.WriteFile(s.key(i), []byte(s.credentials[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range plantedAt {
		s.planted[name] = "planted-" + random()
	}
	s.up = standin.New(s.credentials[0])
	s.up.Step = make(chan struct{}) // no stream ends
	server := httptest.NewServer(s.up)
	t.Cleanup(server.Close)
	s.url = server.URL
	s.House = house.New(t, house.Plan{
		Sandbox: sandbox, Offers: ", prober",
		Top: fmt.Sprintf(`gateway:
  routes:
    model: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}
    refused: {preset: anthropic, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}
    away: {preset: anthropic, upstream: "http://127.0.0.1:1", http_to: 127.0.0.1, private: true, credential: {file: %q}}
  prices: {model: {"*": {input: 5, output: 25}}}`, s.url, s.key(0), s.url, s.key(1), s.key(1)),
		Profiles: "  prober:\n    " + proberRoot(t, sandbox) + `
    command: [/prober, search, errand]
    timeout: {default: 30s, min: 1s, max: 5m}
    routes: [model, {route: refused, prefix: /refused}, {route: away, prefix: /away}]
    budget: {run: {output_tokens: 1000}}
`,
	})
	return s
}

// proberRoot is the line of a profile for a root that holds the prober, and nothing else.
func proberRoot(t *testing.T, sandbox string) string {
	t.Helper()
	root := t.TempDir()
	program, err := os.ReadFile(verdict.Build(t))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "prober"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if sandbox == house.Docker {
		return "image: " + importRoot(t, house.NeedEngine(t), root, "torno-test-prober")
	}
	return "rootfs: dir:" + root
}

func (s *secretScene) key(i int) string { return filepath.Join(s.keys, fmt.Sprint("key", i)) }

// random is a word that is nowhere else.
func random() string {
	word := make([]byte, 24)
	rand.Read(word)
	return hex.EncodeToString(word)
}

// pieceSize is such that a piece of a credential is in no file by chance.
const pieceSize = 12

// secrets are what the child looks for: pieces of the credentials, also as base64 spells them, and what was planted.
func (s *secretScene) secrets() (all []inside.Secret) {
	for i, credential := range s.credentials {
		for _, text := range []string{strings.TrimPrefix(credential, "sk-torno-"), base64.StdEncoding.EncodeToString([]byte(credential))[12:]} {
			for at := 0; at+pieceSize <= len(text); at += pieceSize {
				all = append(all, inside.Secret{Name: fmt.Sprintf("credential %d, %d of %d", i, at, len(text)), Masked: inside.Mask(text[at : at+pieceSize])})
			}
		}
	}
	for name, text := range s.planted {
		all = append(all, inside.Secret{Name: name, Masked: inside.Mask(text)})
	}
	return all
}

// errand has the child ask all kinds of things, and look everywhere while a request is under way.
func (s *secretScene) errand() inside.Errand {
	const messages = "/v1/messages"
	hello := `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"hello"}]}`
	says := func(text string) string { return strings.Replace(hello, "hello", text, 1) }
	return inside.Errand{
		Secrets: s.secrets(), Answers: "answers",
		Asks: []inside.Ask{
			{Name: "plain", Path: messages, Body: says(s.planted["answer"])},
			{Name: "echo", Path: messages, Body: says("#echo")},
			{Name: "refused", Path: "/refused" + messages, Body: hello},
			{Name: "away", Path: "/away" + messages, Body: hello},
			{Name: "nowhere", Path: "/nowhere" + messages, Body: hello},
			{Name: "broken", Path: messages, Body: "{"},
			{Name: "budget", Path: messages, Body: strings.Replace(hello, "50", "5000", 1)},
			{Name: "held", Path: messages, Body: strings.Replace(hello, "{", `{"stream":true,`, 1), Until: "message_start"},
		},
	}
}

// answersAreReal: each of the child's requests came as far as it was meant to, and the upstream does say a credential.
func (s *secretScene) answersAreReal(dir string) {
	s.Helper()
	for name, text := range map[string]string{
		"plain": "You said", "echo": "your key is ***", "refused": "Incorrect API key provided: ***", "away": "502", "nowhere": "404",
		"broken": "400", "held": "message_start", "budget": "budget",
	} {
		if got := s.Read(filepath.Join(dir, name)); !strings.Contains(got, text) {
			s.Errorf("the answer %q is %q; want %q in it", name, got, text)
		}
	}
	request, err := http.NewRequest(http.MethodPost, s.url+"/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"#echo"}]}`))
	s.Must(err)
	request.Header.Set("X-Api-Key", s.credentials[0])
	response, err := http.DefaultClient.Do(request)
	s.Must(err)
	defer response.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(response.Body); err != nil || !strings.Contains(said.String(), s.credentials[0]) {
		s.Errorf("%v: the upstream does not say a credential that it was sent: %q", err, said.String())
	}
}

// hostSaysNone: nor is a credential in a file that the host wrote: responses, logs, what was spent, events.
func (s *secretScene) hostSaysNone() {
	s.Helper()
	files := 0
	holds := func(dir string) (in []string) {
		s.Must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // files come and go
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // the same
			}
			files++
			for _, credential := range s.credentials {
				if bytes.Contains(data, []byte(credential[len(credential)-pieceSize:])) {
					in = append(in, path)
				}
			}
			return nil
		}))
		return in
	}
	if in := holds(s.Dir); len(in) > 0 || files < 10 {
		s.Errorf("of %d files of the host's these have a credential: %q", files, in)
	}
	if in := holds(s.keys); len(in) != len(s.credentials) {
		s.Errorf("the files of the credentials were found in %q", in)
	}
	for _, credential := range s.credentials {
		if strings.Contains(s.Said(), credential) {
			s.Error("the watcher's log has a credential")
		}
	}
}
