package route

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzDecide: whatever a child sends, what leaves goes to the upstream, below its path, with a header that we know, and with the
// model that is allowed in every reading of the body.
func FuzzDecide(f *testing.F) {
	const claude = `{"model":"good","max_tokens":9,"stream":true,"tools":[{"type":"web_search"},{"name":"a"}],"messages":[{"role":"user","content":"hi"}]}`
	for _, path := range []string{"/v1/messages", "/v1/chat/completions", "/v1/responses", "/model/good/invoke", "/v1beta/models/good:generateContent", "/@a%2fb", "/a/../b"} {
		f.Add("POST", path, "beta=true", "X-Api-Key", "dummy", claude)
		f.Add("GET", path, "alt=sse&key=x", "Connection", "x-y", "")
	}
	for path, body := range map[string]string{
		"/v1/messages":                        `{"model":"good","fallbacks":[],"messages":[{"content":[{"type":"document","source":{"type":"base64","data":"AA"}}]}]}`,
		"/v1/chat/completions":                `{"model":"good","messages":[{"content":[{"file":{"file_data":"data:a"}},{"image_url":{"url":"data:image/png,"}}]}]}`,
		"/v1/responses":                       `{"model":"good","input":[{"id":"x"},{"output":[{"image_url":null}]},{"result":"AA"}],"conversation":{}}`,
		"/v1beta/models/good:generateContent": `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png"}},{"fileData":1}]}],"cachedContent":"x"}`,
		"/model/good/converse":                `{"messages":[{"content":[{"image":{"source":{"bytes":"AA"}}}]}],"additionalModelRequestFields":{"a":{"b":1}}}`,
	} {
		f.Add("POST", path, "", "A", "b", body)
	}
	var routes []*Route
	for _, name := range []string{"anthropic", "openai", "openrouter", "google", "bedrock", "npm", "git"} {
		r := ofPreset(f, name)
		if r.API != Plain {
			r = ofPreset(f, name, "models", []any{"good", "fine-*"}, "set", map[string]any{"x-ours": "1"})
		}
		routes = append(routes, r)
	}
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string) {
		header := http.Header{"Content-Type": {"application/json"}, name: {value}}
		for _, r := range routes {
			e, err := r.Decide(Request{Method: method, Path: path, RawQuery: query, Header: header, Body: []byte(body)})
			if err != nil {
				if text := refusal(t, err).Text; len(text) > 1000 || !isValue(text) {
					t.Fatalf("%s: a refusal of %d bytes: %q", r.Name, len(text), text)
				}
				continue
			}
			checkURL(t, r, e)
			checkHeader(t, r, e)
			checkBody(t, r, e)
			if closing, err := r.Closing(e, 2000); err == nil && r.API != Plain {
				checkBody(t, r, closing)
			}
		}
	})
}

// checkURL reads the address as another program would, twice decoded too.
func checkURL(t *testing.T, r *Route, e Exchange) {
	u, err := url.Parse(e.URL.String())
	if err != nil || u.Scheme != r.Upstream.Scheme || u.Host != r.Upstream.Host || u.User != nil || u.Fragment != "" {
		t.Fatalf("%s leads to %s, %v", r.Name, e.URL, err)
	}
	if !strings.HasPrefix(u.EscapedPath(), strings.TrimSuffix(r.Upstream.EscapedPath(), "/")+"/") {
		t.Fatalf("%s leads out of the upstream's path: %s", r.Name, e.URL)
	}
	again, err := url.PathUnescape(u.Path)
	if err != nil || again != u.Path || strings.Contains(strings.Trim(again, "/"), "//") || strings.ContainsAny(again, "\\;\x00\r\n ") {
		t.Fatalf("%s: the path can be read twice: %s", r.Name, e.URL)
	}
	for segment := range strings.SplitSeq(again, "/") {
		if segment == "." || segment == ".." {
			t.Fatalf("%s climbs: %s", r.Name, e.URL)
		}
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		t.Fatalf("%s: %v", e.URL, err)
	}
	for name, v := range values {
		if len(v) != 1 || !slices.Contains([]string{"beta", "alt", "limit", "after_id", "before_id", "client_version", "pageSize", "pageToken", "service"}, name) ||
			name == "service" && v[0] != "git-upload-pack" {
			t.Fatalf("%s: a parameter that no rule has: %s", r.Name, e.URL)
		}
	}
}

// checkHeader writes the header and reads it back: one line for each name, and none that identifies.
func checkHeader(t *testing.T, r *Route, e Exchange) {
	var wire bytes.Buffer
	if err := e.Header.Write(&wire); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(wire.String(), "\n"); n != len(e.Header) {
		t.Fatalf("%s: %d lines of %d names: %q", r.Name, n, len(e.Header), wire.String())
	}
	for name, values := range e.Header {
		bad := slices.Contains(never, name) && name != "Accept-Encoding" || strings.EqualFold(name, r.Credential.Header)
		if bad || len(values) != 1 || name != http.CanonicalHeaderKey(name) {
			t.Fatalf("%s: the header %s: %q leaves", r.Name, name, values)
		}
	}
}

// checkBody reads the body as Go does, which takes any case of a key and the last of two.
func checkBody(t *testing.T, r *Route, e Exchange) {
	if r.API == Plain || len(e.Body) == 0 {
		return
	}
	var loose struct {
		Model      *string `json:"model"`
		Stream     bool    `json:"stream"`
		MCPServers any     `json:"mcp_servers"`
		Background any     `json:"background"`
	}
	var strict map[string]any
	if err := json.Unmarshal(e.Body, &strict); err != nil {
		t.Fatalf("%s: %q leaves: %v", r.Name, e.Body, err)
	}
	_ = json.Unmarshal(e.Body, &loose) // of another type than here, a member is no model
	if e.Model != "good" && !strings.HasPrefix(e.Model, "fine-") {
		t.Fatalf("%s: the model %q", r.Name, e.Model)
	}
	inPath := r.API == Google || r.API == Bedrock
	if inPath != (loose.Model == nil) || loose.Model != nil && *loose.Model != e.Model {
		t.Fatalf("%s: the body has another model than %q: %s", r.Name, e.Model, e.Body)
	}
	if r.API == Anthropic && loose.MCPServers != nil || r.API == OpenAIResponses && loose.Background == true {
		t.Fatalf("%s: this reaches: %s", r.Name, e.Body)
	}
	if !inPath && loose.Stream != e.Stream {
		t.Fatalf("%s: a stream: %v: %s", r.Name, e.Stream, e.Body)
	}
}

// FuzzRule: a rule that is taken says the same again, and takes no path that climbs.
func FuzzRule(f *testing.F) {
	f.Add("GET /a/*/{model}.x/**?b=c|d&e", "/a/b/c.x/d")
	f.Add("GET,HEAD /**/@v/*.zip", "/a/b/@v/1.zip")
	f.Fuzz(func(t *testing.T, text, path string) {
		rule, err := parseRule(text)
		if err != nil {
			return
		}
		again, err := parseRule(rule.String())
		if err != nil {
			t.Fatalf("%q is not taken again: %v", rule, err)
		}
		segments, err := splitPath(path)
		if err != nil {
			return
		}
		over := rule.pattern.match(segments)
		if (over == nil) != (again.pattern.match(segments) == nil) {
			t.Fatalf("%q changes its mind", rule)
		}
		for i, g := range over {
			back, err := decodeSegment(g.encode(segments[i]))
			if err != nil || back != segments[i] {
				t.Fatalf("%q became %q, %v", segments[i], back, err)
			}
		}
	})
}

// FuzzParse: what an operator writes is a route or an error that names keys, never a panic; a route does what it says.
func FuzzParse(f *testing.F) {
	for name := range presets {
		f.Add(`{"preset":"` + name + `"}`)
	}
	f.Add(`{"api":"plain","upstream":"https://a.example/x?y=z","allow":["GET /**"],"models":{"a":"b"},"credential":{"aws":{"file":"/f","region":"r"}},"pins":[1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var said map[string]any
		if json.Unmarshal([]byte(text), &said) != nil {
			return
		}
		before, err := json.Marshal(said)
		if err != nil {
			return
		}
		r, err := Parse("r", said)
		if after, _ := json.Marshal(said); !bytes.Equal(before, after) {
			t.Fatalf("%s became %s", before, after)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "r") {
				t.Fatalf("the error has no key: %v", err)
			}
			return
		}
		if r.Upstream.Scheme == "http" && said["http_to"] != r.Upstream.Hostname() && said["preset"] != "ollama" {
			t.Fatalf("http without a word: %s", text)
		}
		if len(r.Allow) == 0 || r.MaxBody <= 0 || r.MaxHeader <= 0 || r.Silence <= 0 || r.Upstream.Host == "" {
			t.Fatalf("%s is incomplete: %+v", text, r)
		}
		e, err := r.Decide(Request{Method: "GET", Path: "/a/b", Header: http.Header{"Authorization": {"x"}, "Cookie": {"x"}}})
		if err == nil && (e.URL.Host != r.Upstream.Host || e.Header.Get("Cookie")+e.Header.Get("Authorization") != "") {
			t.Fatalf("%s: %+v", text, e)
		}
	})
}
