package route

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

var (
	credentialKeys = []string{"file", "command", "systemd", "claude", "codex", "aws"}
	awsKeys        = []string{"file", "command", "systemd", "region", "service"}
)

// credential reads where the secret is. The operator writes one of
//
//	credential: {file: /etc/torno/anthropic.key}
//	credential: {command: [/usr/bin/op, read, "op://vault/key"]}
//	credential: {systemd: anthropic}          # LoadCredential=anthropic:…
//	credential: {claude: /home/me/.claude/.credentials.json}
//	credential: {codex: /home/me/.codex/auth.json}
//	credential: {aws: {file: /home/me/.aws/credentials, region: eu-central-1}}
func (p *parser) credential() Credential {
	c := Credential{Header: p.text("header"), Prefix: p.text("header_prefix")}
	if c.Header != "" && !isToken(c.Header) {
		p.problem("header", "%s is not the name of a header", short(c.Header))
	}
	if !isValue(c.Prefix) {
		p.problem("header_prefix", "is not the beginning of a header's value")
	}
	value, said := p.keys["credential"]
	if !said || value == nil {
		return c
	}
	given, ok := value.(map[string]any)
	if !ok || len(given) != 1 {
		p.problem("credential", "must name exactly one place: %s", strings.Join(credentialKeys, ", "))
		return c
	}
	for kind := range given {
		if !slices.Contains(credentialKeys, kind) {
			p.problem("credential", "there is no %s%s", short(kind), suggest(kind, credentialKeys))
			return c
		}
		c.Kind = kind
	}
	if c.Kind == "aws" {
		p.aws(given["aws"], &c)
		return c
	}
	p.place("credential", c.Kind, given[c.Kind], &c)
	return c
}

// place reads the place of one secret.
func (p *parser) place(at, kind string, value any, c *Credential) {
	key := at + "." + kind
	switch kind {
	case "command":
		inner := parser{at: p.at, keys: map[string]any{key: value}}
		c.Command = inner.texts(key)
		p.problems = append(p.problems, inner.problems...)
		if len(c.Command) == 0 || !filepath.IsAbs(c.Command[0]) {
			p.problem(key, "is not a list that begins with a program's absolute path")
		}
	case "systemd":
		c.Name, _ = value.(string)
		if c.Name == "" || strings.ContainsAny(c.Name, "/\x00") || c.Name == "." || c.Name == ".." {
			p.problem(key, "is not the name of a credential (LoadCredential=NAME:…)")
		}
	default:
		c.Path, _ = value.(string)
		if !filepath.IsAbs(c.Path) || strings.Contains(c.Path, "\x00") {
			p.problem(key, "is not an absolute path")
		}
	}
}

func (p *parser) aws(value any, c *Credential) {
	given, ok := value.(map[string]any)
	if !ok {
		p.problem("credential.aws", "must name a place and a region: %s", strings.Join(awsKeys, ", "))
		return
	}
	c.Service = "bedrock"
	places := 0
	for _, key := range slices.Sorted(maps.Keys(given)) {
		switch key {
		case "region", "service":
			text, _ := given[key].(string)
			if text == "" || escape(text, "-") != text {
				p.problem("credential.aws."+key, "is not a %s such as eu-central-1 or bedrock", key)
			}
			if key == "region" {
				c.Region = text
			} else {
				c.Service = text
			}
		case "file", "command", "systemd":
			places++
			p.place("credential.aws", key, given[key], c)
		default:
			p.problem("credential.aws."+key, "is unknown here%s", suggest(key, awsKeys))
		}
	}
	if places != 1 || c.Region == "" {
		p.problem("credential.aws", "needs a region, and one of file, command, systemd")
	}
}

func (p *parser) roots() string {
	path := p.text("roots")
	if path != "" && !filepath.IsAbs(path) {
		p.problem("roots", "%s is not an absolute path", short(path))
	}
	return path
}

// pins reads sha256 sums of public keys, as "openssl … | openssl dgst -sha256 -binary | base64" prints them.
func (p *parser) pins() []string {
	pins := p.texts("pins")
	for i, pin := range pins {
		if sum, err := base64.StdEncoding.DecodeString(pin); err != nil || len(sum) != 32 {
			p.problem(fmt.Sprintf("pins[%d]", i), "is not a sha256 in base64")
		}
	}
	return pins
}
