package route

import (
	"errors"
	"slices"
	"strings"
)

const (
	maxQuery      = 2 << 10
	maxParameters = 16
)

// credentialParameters carry a credential in place of a header. The child's credential is worthless, so they are
// dropped.
var credentialParameters = []string{"key", "api_key", "api-key", "apikey", "access_token", "token", "auth"}

// judgeQuery checks a query and writes it anew, in its own order. of are the rule's parameters. operators is the query
// of the upstream's URL, whose parameters replace the child's.
func judgeQuery(raw string, of []parameter, operators string) (string, error) {
	out := []string{}
	if operators != "" {
		out = strings.Split(operators, "&")
	}
	if raw == "" {
		return strings.Join(out, "&"), required(of, nil)
	}
	if len(raw) > maxQuery || strings.Count(raw, "&") >= maxParameters {
		return "", errors.New("the query is too long")
	}
	var seen []string
	for part := range strings.SplitSeq(raw, "&") {
		name, value, err := decodeParameter(part)
		if err != nil {
			return "", err
		}
		if slices.Contains(seen, name) {
			return "", errors.New("the query has a parameter twice: " + short(name))
		}
		seen = append(seen, name)
		ours := slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o+"=", escape(name, "-._~$")+"=") })
		if ours || slices.Contains(credentialParameters, strings.ToLower(name)) {
			continue
		}
		at := slices.IndexFunc(of, func(p parameter) bool { return p.name == name })
		if at < 0 {
			return "", errors.New("this route takes no parameter " + short(name) + " here")
		}
		if p := of[at]; len(p.values) > 0 && !slices.Contains(p.values, value) {
			return "", errors.New("the parameter " + short(name) + " may only be " + strings.Join(p.values, " or "))
		}
		out = append(out, escape(name, "-._~$")+"="+escape(value, "-._~"))
	}
	return strings.Join(out, "&"), required(of, seen)
}

// required returns an error if the query lacks a parameter with a choice of values. Those values are the reason why the
// request is harmless, so the parameter cannot be left out.
func required(of []parameter, seen []string) error {
	for _, p := range of {
		if len(p.values) > 0 && !p.optional && !slices.Contains(seen, p.name) {
			return errors.New("the parameter " + p.name + " is missing; it may be " + strings.Join(p.values, " or "))
		}
	}
	return nil
}

func decodeParameter(part string) (name, value string, err error) {
	name, value, _ = strings.Cut(part, "=")
	if name, err = unescape(name); err == nil {
		value, err = unescape(strings.ReplaceAll(value, "+", "%20"))
	}
	if err != nil {
		return "", "", err
	}
	for _, c := range []byte(name + value) {
		if c < ' ' || c >= 0x7f || c == ';' {
			return "", "", errors.New("the query has a character that does not belong there")
		}
	}
	if name == "" {
		return "", "", errors.New("the query has a parameter without a name")
	}
	return name, value, nil
}
