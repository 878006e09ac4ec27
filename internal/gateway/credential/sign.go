package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// signature makes signatures (AWS Signature Version 4) for one moment.
type signature struct {
	keys            keys
	region, service string
	at              time.Time
}

// put signs a request: its path, query, host, content type and body. AWS does not trust the unsigned parts.
func (s signature) put(req *http.Request, body []byte) {
	stamp := s.at.Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", stamp)
	if session := s.keys.session.reveal(); session != "" {
		req.Header.Set("X-Amz-Security-Token", session)
	}
	names, canonical := s.canonical(req, body)
	scope := strings.Join([]string{stamp[:8], s.region, s.service, "aws4_request"}, "/")
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, sum([]byte(canonical))}, "\n")
	key := []byte("AWS4" + s.keys.secret.reveal())
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.keys.id.reveal()+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, toSign)))
}

// canonical returns the request in the form that both sides sign.
func (s signature) canonical(req *http.Request, body []byte) (names, text string) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	header := map[string]string{"host": host}
	for _, name := range []string{"content-type", "x-amz-date", "x-amz-security-token"} {
		if value := req.Header.Get(name); value != "" {
			header[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	var all []string
	for name := range header {
		all = append(all, name)
	}
	slices.Sort(all)
	names = strings.Join(all, ";")
	path := req.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	lines := []string{req.Method, encode(path, "/"), query(req.URL.RawQuery)}
	for _, name := range all {
		lines = append(lines, name+":"+header[name])
	}
	lines = append(lines, "", names, sum(body))
	return names, strings.Join(lines, "\n")
}

// query sorts the parameters. Package route has already encoded them in AWS's way.
func query(raw string) string {
	if raw == "" {
		return ""
	}
	parts := strings.Split(raw, "&")
	for i, part := range parts {
		if !strings.Contains(part, "=") {
			parts[i] = part + "="
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// encode applies AWS's encoding: every byte but letters, digits, -._~ and those in keep becomes %XX. A percent sign of
// text that is encoded already becomes %25.
func encode(text, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._~"+keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
