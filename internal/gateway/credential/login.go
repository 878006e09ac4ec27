package credential

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// program is a program that people log in with. The host keeps its file of tokens for a child.
//
// The facts about the two programs come from other people's documentation. Neither login could be tried here, because
// there is no network. The file's form, the exchange with the token's server and the writing back are tested against a
// stand-in. Both vendors mean these tokens for their own program. So use them for that program only (the real Claude
// Code, the real Codex), and read the terms of your plan first. An API key has no such limits.
type program struct {
	name    string
	host    string // of the token's server
	path    string
	id      string // the program's public client id
	scope   string
	inner   string // the key that holds the tokens
	access  string // keys of the tokens
	refresh string
	again   string // advice to a person when nothing else helps
}

var (
	claude = program{
		name: "Claude Code", host: "platform.claude.com", path: "/v1/oauth/token", id: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
		inner: "claudeAiOauth", access: "accessToken", refresh: "refreshToken", again: "run claude and /login",
	}
	codex = program{
		name: "Codex", host: "auth.openai.com", path: "/oauth/token", id: "app_EMoamEEZ73f0CkXaXp7hrann", scope: "openid profile email",
		inner: "tokens", access: "access_token", refresh: "refresh_token", again: "run codex login",
	}
)

// programs are the programs whose logins a route can use, by the kind of the credential.
var programs = map[string]program{"claude": claude, "codex": codex}

// lookAgain is how long a token from the file is used before the file is read again, because its program may have
// refreshed it.
const lookAgain = 15 * time.Second

// login is the source of a program's tokens.
type login struct {
	of    program
	home  home
	send  func(*http.Request) (*http.Response, error)
	kept  *kept[tokens]
	known *Known

	unsaved *fresh // new tokens that are not in the file yet; used only by a reading, of which only one runs at a time

	mu            sync.Mutex // guards the fields below
	used, refused Secret     // the most recent access token, and the access token that the upstream refused
}

// tokens are the parts of a login that a request needs.
type tokens struct {
	access  Secret
	account string
}

// fresh holds tokens that are newer than the file's.
type fresh struct {
	spent Secret // the refresh token in the file; it is used up
	said  Secret // the answer of the token's server
	at    time.Time
}

func (l *login) Header(ctx context.Context) (name, value string, err error) {
	t, err := l.kept.get(ctx, l.read)
	if err != nil {
		return "", "", err
	}
	l.known.add(t.access.reveal())
	return "Authorization", "Bearer " + t.access.reveal(), nil
}

func (l *login) sign(ctx context.Context, req *http.Request, _ []byte) error {
	t, err := l.kept.get(ctx, l.read)
	if err != nil {
		return err
	}
	l.known.add(t.access.reveal())
	req.Header.Set("Authorization", "Bearer "+t.access.reveal())
	if t.account != "" {
		req.Header.Set("Chatgpt-Account-Id", t.account)
	}
	return nil
}

func (l *login) Refused(context.Context) {
	l.mu.Lock()
	l.refused = l.used
	l.mu.Unlock()
	l.kept.drop()
}

func (l *login) isRefused(access string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused.reveal() == access
}

// read returns the file's tokens, or new ones if those have expired or were refused.
func (l *login) read(ctx context.Context) (tokens, until, error) {
	now, err := l.load(ctx)
	if err != nil {
		return tokens{}, until{}, err
	}
	if l.unsaved == nil && l.isGood(now) {
		return l.use(now), l.end(now), nil
	}
	release, err := alone(ctx, l.home)
	if err != nil {
		return tokens{}, until{}, err
	}
	defer release()
	return l.readAlone(ctx)
}

// readAlone does the work of read while this route alone may refresh the login. It reads the file again first, because
// another gateway, or another route of this one, may have got new tokens while it waited.
func (l *login) readAlone(ctx context.Context) (tokens, until, error) {
	now, err := l.load(ctx)
	if err != nil {
		return tokens{}, until{}, err
	}
	if l.unsaved != nil && l.unsaved.spent.reveal() == now.refresh {
		return l.save(ctx)
	}
	l.unsaved = nil
	if l.isGood(now) {
		return l.use(now), l.end(now), nil
	}
	if now.refresh == "" {
		return tokens{}, until{}, fmt.Errorf("the login in %s has expired and cannot be refreshed: %s", l.home, l.of.again)
	}
	got, err := l.renew(ctx, now)
	if err != nil {
		return l.othersOr(ctx, now, err)
	}
	l.unsaved = got
	return l.save(ctx)
}

// load reads the file, and remembers its secrets for scrubbing.
func (l *login) load(ctx context.Context) (contents, error) {
	text, err := l.home.read(ctx)
	if err != nil {
		return contents{}, err
	}
	now, err := l.of.parse(l.home, text)
	l.known.add(now.access)
	l.known.add(now.refresh)
	return now, err
}

func (l *login) isGood(now contents) bool {
	return !l.isRefused(now.access) && (now.end.IsZero() || time.Until(now.end) > margin)
}

// othersOr returns the file's tokens if they have changed, and otherwise err. A refresh token can be used only once, so
// ours fails if the program on the host was faster; then the file has that program's tokens.
func (l *login) othersOr(ctx context.Context, was contents, err error) (tokens, until, error) {
	now, again := l.load(ctx)
	if again != nil || now.access == was.access {
		return tokens{}, until{}, err
	}
	return l.use(now), l.end(now), nil
}

// save writes new tokens into the file, and returns the tokens that the file has then. If a person logged in anew
// meanwhile, it returns that person's tokens.
func (l *login) save(ctx context.Context) (tokens, until, error) {
	if err := l.home.save(ctx, l.unsaved); err != nil {
		return tokens{}, until{}, fmt.Errorf("new tokens of %s could not be written back, and the tokens in the file are no longer valid: %w", l.of.name, err)
	}
	now, err := l.load(ctx)
	if err != nil {
		return tokens{}, until{}, err
	}
	l.unsaved = nil
	return l.use(now), l.end(now), nil
}

func (l *login) use(c contents) tokens {
	t := tokens{access: secretOf(c.access), account: c.account}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = t.access
	return t
}

func (l *login) end(c contents) until {
	soon := time.Now().Add(lookAgain)
	if !c.end.IsZero() && c.end.Add(-margin).Before(soon) {
		soon = c.end.Add(-margin)
	}
	return until{soon}
}

// contents are the parts of the file that this package uses.
type contents struct {
	access, refresh, account string
	end                      time.Time
}

// parse reads the text of a login's file. Even with an error it returns the tokens that it found, so that they can be
// scrubbed.
func (p program) parse(at fmt.Stringer, text string) (contents, error) {
	var whole map[string]json.RawMessage
	var inner map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &whole) != nil || json.Unmarshal(whole[p.inner], &inner) != nil {
		return contents{}, fmt.Errorf("%s has no login of %s: %s", at, p.name, p.again)
	}
	var c contents
	for key, to := range map[string]*string{p.access: &c.access, p.refresh: &c.refresh, "account_id": &c.account} {
		if raw, ok := inner[key]; ok && json.Unmarshal(raw, to) != nil {
			return c, fmt.Errorf("%s: %s is not a text", at, key)
		}
	}
	if c.access == "" || !isValue(c.access) || !isValue(c.account) {
		return c, fmt.Errorf("%s has no login of %s: %s", at, p.name, p.again)
	}
	c.end = expiry(inner["expiresAt"], c.access)
	return c, nil
}

// onlyTokens returns what parse reads in a login's file, and nothing else: the file may hold other logins. It returns ""
// for a text that parse refuses.
func (p program) onlyTokens(text string) string {
	var whole, inner map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &whole) != nil || json.Unmarshal(whole[p.inner], &inner) != nil {
		return ""
	}
	maps.DeleteFunc(inner, func(key string, _ json.RawMessage) bool {
		return !slices.Contains([]string{p.access, p.refresh, "account_id", "expiresAt"}, key)
	})
	only, err := json.Marshal(map[string]any{p.inner: inner})
	if err != nil {
		return ""
	}
	return string(only)
}

func isValue(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
