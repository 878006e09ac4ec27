package credential

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"torno/internal/gateway/route"
)

// TestSignature: the vectors that AWS publishes for Signature Version 4.
func TestSignature(t *testing.T) {
	s := signature{
		keys{secretOf("AKIDEXAMPLE"), secretOf("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), Secret{}},
		"us-east-1", "service", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC),
	}
	for _, test := range []struct{ method, url, want string }{
		{"GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.put(req, nil)
		if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "SignedHeaders=host;x-amz-date, Signature="+test.want) {
			t.Errorf("%s %s: %s", test.method, test.url, got)
		}
	}
}

// TestKeysOfAWS: from a file, from JSON, with a session; a path is encoded twice, as AWS has it.
func TestKeysOfAWS(t *testing.T) {
	const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	for name, text := range map[string]string{
		"a profile": "[other]\naws_access_key_id = NO\n[default]\naws_access_key_id = AKID\naws_secret_access_key=" + secret + "\naws_session_token = sess\n",
		"JSON":      `{"Version":1,"AccessKeyId":"AKID","SecretAccessKey":"` + secret + `","SessionToken":"sess"}`,
	} {
		s, known := opened(t, route.Credential{Kind: "aws", Path: written(t, text), Region: "eu-central-1", Service: "bedrock"})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://b.example/model/a%3A0/invoke", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if err := Apply(t.Context(), s, req, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		got := req.Header.Get("Authorization")
		if !strings.Contains(got, "Credential=AKID/") || !strings.Contains(got, "/eu-central-1/bedrock/aws4_request") ||
			!strings.Contains(got, "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,") || req.Header.Get("X-Amz-Security-Token") != "sess" {
			t.Errorf("%s: %s", name, got)
		}
		if _, canonical := (signature{}).canonical(req, nil); !strings.Contains(canonical, "\n/model/a%253A0/invoke\n") {
			t.Errorf("%s: %q", name, canonical)
		}
		if known.Scrub(secret) != hidden {
			t.Errorf("%s: the secret is not known", name)
		}
	}
	for _, text := range []string{"", "[default]\n", "{", "[default]\naws_access_key_id=a\naws_secret_access_key=b\n"} {
		s, _ := opened(t, route.Credential{Kind: "aws", Path: written(t, text), Region: "r", Service: "s"})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://b.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Apply(t.Context(), s, req, nil); err == nil {
			t.Errorf("%q has a key", text)
		}
	}
}
