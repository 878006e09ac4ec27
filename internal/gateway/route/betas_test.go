package route

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sent is a request with a list of betas in a header.
func sent(target, header string, values ...string) Request {
	body := `{"model":"m"}`
	if strings.HasPrefix(target, "/model/") {
		body = `{"max_tokens":1}`
	}
	q := post(target, body)
	q.Header[http.CanonicalHeaderKey(header)] = values
	return q
}

// TestBetasOfAgents: what Claude Code 2.1.330 and Codex 0.169.0 send by themselves (seen at a stand-in), what
// Claude Code sends to its vendor, and what the vendor's documents have for fields that we pass on, leaves as it
// came.
func TestBetasOfAgents(t *testing.T) {
	const messages = "/v1/messages?beta=true"
	for name, test := range map[string]struct{ preset, target, header, value string }{
		"claude, opus": {"anthropic", messages, "Anthropic-Beta", "claude-code-20250219,interleaved-thinking-2025-05-14," +
			"context-management-2025-06-27,per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01," +
			"thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24"},
		"claude, haiku": {"anthropic", messages, "Anthropic-Beta", "interleaved-thinking-2025-05-14," +
			"context-management-2025-06-27,claude-code-20250219,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20"},
		"claude, to its vendor": {"claude-login", messages, "Anthropic-Beta", "claude-code-20250219,oauth-2025-04-20," +
			"interleaved-thinking-2025-05-14,redact-thinking-2026-02-12,prompt-caching-scope-2026-01-05," +
			"mid-conversation-system-2026-04-07,extended-cache-ttl-2025-04-11,thinking-display-updates-2026-08-18"},
		"claude, older": {"anthropic", "/v1/messages", "Anthropic-Beta", "fine-grained-tool-streaming-2025-05-14," +
			"prompt-caching-2024-07-31"},
		"claude, counts": {"anthropic", "/v1/messages/count_tokens?beta=true", "Anthropic-Beta", "token-counting-2024-11-01"},
		"codex":          {"openai", "/v1/responses", "X-Codex-Beta-Features", "remote_compaction_v2"},
		"codex, older":   {"codex-login", "/v1/responses", "Openai-Beta", "responses=experimental"},
	} {
		e, err := ofPreset(t, test.preset).Decide(sent(test.target, test.header, test.value))
		if err != nil || e.Header.Get(test.header) != test.value && test.preset != "claude-login" || e.Dropped != nil {
			t.Errorf("%s: %q leaves, without %v, %v", name, e.Header.Get(test.header), e.Dropped, err)
		}
		if test.preset == "claude-login" && !strings.HasPrefix(e.Header.Get(test.header), test.value) {
			t.Errorf("%s: %q leaves", name, e.Header.Get(test.header))
		}
	}
}

// TestBetasInAHeader: a beta that is not known, that makes an answer dearer or that reaches further than it is taken
// out, in every spelling, unless the route's reach names it, or the thing that it switches on.
func TestBetasInAHeader(t *testing.T) {
	const good, long = "claude-code-20250219", "context-1m-2025-08-07"
	list := func(all ...string) []string { return all }
	openai := func(preset, header string) [3]string { return [3]string{preset, "/v1/responses", header} }
	for name, test := range map[string]struct {
		to             [3]string // a preset, a path and a header; those of Claude Code if absent
		values         []string
		leaves         string
		dropped, reach []string // what is dropped is all if absent, and there is a reach
	}{
		"the long window": {values: list(long), dropped: list(long)},
		"beside another":  {values: list(good + "," + long), leaves: good, dropped: list(long)},
		"in two lines":    {values: list(good, " , "+long+"\t"), leaves: good, dropped: list(long)},
		"in another case": {values: list("Context-1M-2025-08-07", strings.ToUpper(good)), leaves: good, dropped: list(long)},
		"behind a space":  {values: list(good + " " + long), dropped: list(good + " " + long)},
		"in quotes":       {values: list(`"`+long+`"`, good+";q=1"), dropped: list(`"`+long+`"`, good+";q=1")},
		"twice":           {values: list(good, good), leaves: good},
		"nothing in it":   {values: list(" ,, ")},
		"haste":           {values: list("fast-mode-2026-02-01"), reach: list("speed")},
		"files":           {values: list("files-api-2025-04-14"), reach: list("stored")},
		"servers":         {values: list("mcp-client-2025-11-20"), reach: list("mcp_servers", "mcp-*")},
		"a tool":          {values: list("web-fetch-2025-09-10"), reach: list("web_fetch_20250910", "web_*")},
		"a summary":       {values: list("compact-2026-01-12"), reach: list("context_management")},
		"other models":    {values: list("server-side-fallback-2026-07-01"), reach: list("fallbacks")},
		"one of tomorrow": {
			values: list("dear-2027-01-01", good), leaves: good, dropped: list("dear-2027-01-01"), reach: list("dear-*", "*"),
		},
		"of a login": {
			to: [3]string{"claude-login", "/v1/messages", "Anthropic-Beta"}, values: list("fast-mode-2026-02-01"),
			leaves: "oauth-2025-04-20", dropped: list("fast-mode-2026-02-01"),
		},
		"of openai": {
			to: openai("openai", "Openai-Beta"), values: list("assistants=v2, responses=experimental"),
			leaves: "responses=experimental", dropped: list("assistants=v2"), reach: list("assistants=*"),
		},
		"of codex": {
			to: openai("codex-login", "X-Codex-Beta-Features"), values: list("remote_compaction_v2,dear"),
			leaves: "remote_compaction_v2", dropped: list("dear"), reach: list("dear"),
		},
		"of a chat": {
			to: [3]string{"compatible", "/v1/chat/completions", "Openai-Beta"}, values: list("assistants=v2"),
			dropped: list("assistants=v2"), reach: list("assistants=v2"),
		},
	} {
		if test.to[0] == "" {
			test.to = [3]string{"anthropic", "/v1/messages", "anthropic-beta"}
		}
		if test.dropped == nil && test.reach != nil {
			test.dropped = test.values
		}
		preset, header := test.to[0], test.to[2]
		q := sent(test.to[1], header, test.values...)
		e, err := ofPreset(t, preset).Decide(q)
		if err != nil || e.Header.Get(header) != test.leaves || !slices.Equal(e.Dropped, test.dropped) {
			t.Errorf("%s: %q leaves, without %q, %v", name, e.Header.Get(header), e.Dropped, err)
		}
		if _, there := e.Header[http.CanonicalHeaderKey(header)]; there && test.leaves == "" {
			t.Errorf("%s: an empty header leaves", name)
		}
		for _, word := range test.reach {
			e, err := ofPreset(t, preset, "reach", []any{word}).Decide(q)
			if err != nil || len(e.Dropped) > 0 {
				t.Errorf("%s, where the reach has %s: %q is taken out, %v", name, word, e.Dropped, err)
			}
		}
	}
}

// TestBetasOfTheOperator: a header that the operator passes on is read as any, and what the operator sets leaves. The
// long window leaves in neither way where the prices do not know it.
func TestBetasOfTheOperator(t *testing.T) {
	const long, own = "context-1m-2025-08-07", "of-the-operator-2026-01-01"
	q := sent("/v1/messages", "X-Anthropic-Beta", long)
	e, err := ofPreset(t, "anthropic", "headers", []any{"x-*"}).Decide(q)
	if err != nil || e.Header.Get("X-Anthropic-Beta") != "" {
		t.Errorf("a header that the operator passes on: %v, %v", e.Header, err)
	}
	r := ofPreset(t, "anthropic", "set", map[string]any{"anthropic-beta": own + "," + long}, "reach", []any{long})
	for _, priced := range []bool{false, true} {
		q.LongPriced = func(string) bool { return priced }
		want := map[bool]string{false: own, true: own + "," + long}[priced]
		e, err := r.Decide(q)
		if err != nil || e.Header.Get("Anthropic-Beta") != want || e.Long != priced {
			t.Errorf("what the operator sets, with a price %v: %v, %v", priced, e.Header, err)
		}
	}
	if e, err := r.Decide(get("/v1/models")); err != nil || e.Header.Get("Anthropic-Beta") != own {
		t.Errorf("a list of models: %v, %v", e.Header, err)
	}
}

// TestBetasInABody: Bedrock has them in the body, below two keys, and so have others.
func TestBetasInABody(t *testing.T) {
	const long, good = `"context-1m-2025-08-07"`, `"interleaved-thinking-2025-05-14"`
	const effort = `{"anthropic_beta":["effort-2025-11-24"]}`
	for name, test := range map[string]struct{ sent, leaves string }{
		"one of two":       {`{"anthropic_beta":[` + good + `,` + long + `]}`, `{"anthropic_beta":[` + good + `]}`},
		"nothing left":     {`{"a":1,"anthropic_beta":[` + long + `]}`, `{"a":1}`},
		"another spelling": {`{"anthropicBeta":[` + long + `]}`, `{}`},
		"escaped":          {`{"anthropic_beta":["\u0063ontext-1m-2025-08-07"]}`, `{}`},
		"a text":           {`{"anthropic_beta":"effort-2025-11-24, context-1m-2025-08-07"}`, effort},
		"a list in a list": {`{"anthropic_beta":["effort-2025-11-24,context-1m-2025-08-07"]}`, effort},
		"no list":          {`{"anthropic_beta":{"a":` + long + `}}`, `{}`},
		"no texts":         {`{"anthropic_beta":[` + good + `,1]}`, `{}`},
		"without end":      {`{"anthropic_beta":[` + good + strings.Repeat(`,"a"`, 9000) + `]}`, `{}`},
		"known ones":       {`{ "anthropic_beta": [` + good + `]}`, `{ "anthropic_beta": [` + good + `]}`},
		"null":             {`{"anthropic_beta":null}`, `{"anthropic_beta":null}`},
	} {
		e, err := ofPreset(t, "bedrock").Decide(post("/model/anthropic.m/invoke", test.sent))
		if err != nil || string(e.Body) != test.leaves {
			t.Errorf("%s: %s leaves, without %v, %v", name, e.Body, e.Dropped, err)
		}
		e, err = ofPreset(t, "bedrock").Decide(post("/model/m/converse", `{"additionalModelRequestFields":`+test.sent+`}`))
		if err != nil || string(e.Body) != `{"additionalModelRequestFields":`+test.leaves+`}` {
			t.Errorf("%s, through Converse: %s leaves, without %v, %v", name, e.Body, e.Dropped, err)
		}
	}
	for _, test := range []struct{ preset, target, sent, leaves string }{
		{
			"anthropic", "/v1/messages",
			`{"model":"m","betas":[` + long + `],"anthropic_beta":[` + long + `]}`, `{"model":"m"}`,
		},
		{
			"compatible", "/v1/chat/completions",
			`{"model":"m","anthropic_beta":[` + long + `],"extra_headers":{"anthropic-beta":` + long + `}}`, `{"model":"m"}`,
		},
		{
			"bedrock", "/model/m/converse",
			`{"additionalModelRequestFields":{"tools":[{"type":"web_search_20250305"}],"anthropic_beta":[` + long + `]}}`,
			`{"additionalModelRequestFields":{}}`,
		},
	} {
		e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err != nil || string(e.Body) != test.leaves {
			t.Errorf("%s: %s leaves, without %v, %v", test.preset, e.Body, e.Dropped, err)
		}
	}
	q := post("/model/anthropic.m/invoke", `{"anthropic_beta":[`+long+`]}`)
	q.LongPriced = func(model string) bool { return model == "anthropic.m" }
	e, err := ofPreset(t, "bedrock", "reach", []any{"context-1m-*"}).Decide(q)
	if err != nil || string(e.Body) != string(q.Body) || !e.Long {
		t.Errorf("where the reach and the prices have it: %s, long %v, %v", e.Body, e.Long, err)
	}
}

// TestFieldsOfAVendorInConverse: what a body may not have, a vendor's own fields may not have either.
func TestFieldsOfAVendorInConverse(t *testing.T) {
	for _, field := range []string{
		`"speed":"fast"`, `"mcp_servers":[{"url":"https://evil.example"}]`, `"container":"c"`, `"inference_geo":"us"`,
		`"service_tier":"priority"`, `"context_management":{"edits":[{"type":"compact_20260112"}]}`,
	} {
		e, err := ofPreset(t, "bedrock").Decide(post("/model/m/converse", `{"additionalModelRequestFields":{`+field+`}}`))
		if err != nil || string(e.Body) != `{"additionalModelRequestFields":{}}` || len(e.Dropped) != 1 {
			t.Errorf("%s: %s leaves, without %v, %v", field, e.Body, e.Dropped, err)
		}
	}
}

// TestOtherNamesOfADearerAnswer: the long window as a part of a model's name, and a header that hints at a tier.
func TestOtherNamesOfADearerAnswer(t *testing.T) {
	asked := post("/v1/messages", `{"model":"claude-sonnet-4-5[1M]"}`)
	for _, r := range []*Route{
		ofPreset(t, "anthropic"),
		ofPreset(t, "anthropic", "models", []any{"claude-*"}),
		ofPreset(t, "anthropic", "models", []any{"*"}),
	} {
		if _, err := r.Decide(asked); err == nil || refusal(t, err).Code != CodeReach {
			t.Errorf("%v: a model of the long window: %v", r.Models, err)
		}
	}
	if _, err := ofPreset(t, "anthropic", "models", []any{"claude-sonnet-4-5[1M]"}).Decide(asked); err != nil {
		t.Errorf("one that the operator names in full: %v", err)
	}
	q := sent("/v1/responses", "X-Codex-Routing-Hint", "model=dear;tier=priority")
	q.Header.Set("X-Codex-Window-Id", "w")
	e, err := ofPreset(t, "codex-login").Decide(q)
	if err != nil || e.Header.Get("X-Codex-Routing-Hint") != "" || e.Header.Get("X-Codex-Window-Id") != "w" {
		t.Errorf("%v leaves, %v", e.Header, err)
	}
}

// TestAQueryHasNoBetas: the parameter beta is a flag.
func TestAQueryHasNoBetas(t *testing.T) {
	for query, ok := range map[string]bool{
		"": true, "?beta=true": true, "?beta=context-1m-2025-08-07": false, "?beta=true,fast": false, "?betas=x": false,
	} {
		if e, err := ofPreset(t, "anthropic").Decide(post("/v1/messages"+query, `{"model":"m"}`)); (err == nil) != ok {
			t.Errorf("%s: %v, %v", query, e.URL, err)
		}
	}
}

// TestOnlyEditsOfAContext: whatever else stands beside the edits of a context is not known.
func TestOnlyEditsOfAContext(t *testing.T) {
	for _, asked := range []string{
		`{"strategies":[{"type":"compact_20260112"}]}`, `{"edits":[],"compaction":{}}`,
		`{"edits":{"type":"compact_20260112"}}`, `{"edits":["compact_20260112"]}`,
	} {
		q := post("/v1/messages", `{"model":"m","context_management":`+asked+`}`)
		e, err := ofPreset(t, "anthropic").Decide(q)
		if err == nil && string(e.Body) != `{"model":"m"}` {
			t.Errorf("%s: %s leaves", asked, e.Body)
		}
	}
}
