package delegation

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxSeconds bounds every whole number of a request, so that no arithmetic with it overflows.
const maxSeconds = math.MaxInt32

// absent stands for a member that is not there.
type absent struct{}

// leniency describes a difference from the output of Encode that a request may have and still be accepted. Real clients
// need it: MassGen's own watcher coerces values, and people write requests by hand.
type leniency struct {
	Name   string
	Fields []string
	// Given and Taken are an example, as members of a request: the first means exactly the second.
	Given, Taken string
	Why          string
	// take turns a value of one of Fields into its strict form and leaves unknown values alone. take is nil if the
	// decoder itself already forgives this difference.
	take func(any) any
}

var (
	wholeNumbers  = []string{"version", "timeout_seconds"}
	tokens        = []string{"profile", "model", "session_id", "parent_id"}
	texts         = append([]string{"subagent_id", "request_id", "task", "workspace", "answer_file"}, tokens...)
	options       = append([]string{"created_at", "context_paths", "workspace_made"}, tokens...)
	requestFields = append(append(append([]string{"yaml_config"}, wholeNumbers...), texts...), "created_at", "context_paths", "workspace_made")
	wholeText     = regexp.MustCompile(`^-?[0-9]+$`)
)

// leniencies lists every difference that DecodeRequest forgives. DecodeRequest applies them in this order.
var leniencies = []leniency{
	{
		"numeric-string", wholeNumbers, `"timeout_seconds": "30"`, `"timeout_seconds": 30`,
		"MassGen's watcher takes a whole number in quotes", takeNumericString,
	},
	{
		"fraction", wholeNumbers, `"timeout_seconds": 1.9`, `"timeout_seconds": 1`,
		"MassGen's watcher cuts fractions off", takeFraction,
	},
	{
		"huge-number", wholeNumbers, `"timeout_seconds": 1e300`, `"timeout_seconds": 2147483647`,
		"the profile's maximum is applied later, with a warning", takeHugeNumber,
	},
	{
		"number-as-text", texts, `"request_id": 42`, `"request_id": "42"`,
		"counters make fine ids; the text is the number as it is spelled", takeNumberAsText,
	},
	{
		"boolean-as-text", texts, `"task": true`, `"task": "True"`,
		"as MassGen's watcher spells it", takeBooleanAsText,
	},
	{
		"no-yaml-config",
		[]string{"yaml_config"},
		`"yaml_config": null`, `"yaml_config": {}`,
		"only MassGen children need one; absent is the same", takeNoObject,
	},
	{
		"no-answer-file",
		[]string{"answer_file"},
		``, `"answer_file": ""`,
		"not every child writes one; null is the same", takeNoText,
	},
	{
		"null-option", options, `"profile": null`, ``,
		"an optional field that is null was not given", takeNull,
	},
	{
		"empty-option", tokens, `"model": ""`, ``,
		"an optional field that is empty was not given", takeEmpty,
	},
	{
		"one-context-path",
		[]string{"context_paths"},
		`"context_paths": "/p"`, `"context_paths": ["/p"]`,
		"as in MassGen's tools", takeOnePath,
	},
	{
		"time-without-zone",
		[]string{"created_at"},
		`"created_at": "2026-11-21T02:14:05"`,
		`"created_at": "2026-11-21T02:14:05Z"`, "it is taken as UTC; a blank in place of the T is fine", takeTimeWithoutZone,
	},
	{
		"no-time",
		[]string{"created_at"},
		`"created_at": "yesterday"`, ``,
		"nothing is decided by it", takeNoTime,
	},
	{
		"unknown-field", nil, `"colour": "blue"`, ``,
		"newer clients may say more; names are compared exactly", nil,
	},
	{
		"lone-surrogate", texts, `"task": "\ud800"`, `"task": "\ufffd"`,
		"it is not Unicode and has no spelling of its own", nil,
	},
}

// relax applies leniencies to the members of a request.
func relax(body map[string]any, rules []leniency) {
	for _, rule := range rules {
		if rule.take == nil {
			continue
		}
		for _, field := range rule.Fields {
			body[field] = rule.take(body[field])
		}
	}
}

func takeNumericString(v any) any {
	if s, ok := v.(string); ok && wholeText.MatchString(s) {
		return json.Number(s)
	}
	return v
}

func takeFraction(v any) any {
	number, ok := v.(json.Number)
	if !ok || wholeText.MatchString(number.String()) {
		return v
	}
	f, err := number.Float64()
	if err != nil || math.Abs(f) > maxSeconds {
		return v
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

func takeHugeNumber(v any) any {
	number, ok := v.(json.Number)
	if !ok {
		return v
	}
	// If the number is out of range, Float64 fails and returns an infinity, which is as huge as needed here.
	f, _ := number.Float64()
	if math.Abs(f) <= maxSeconds {
		return v
	}
	return json.Number(strconv.FormatInt(int64(math.Copysign(maxSeconds, f)), 10))
}

func takeNumberAsText(v any) any {
	if number, ok := v.(json.Number); ok {
		return number.String()
	}
	return v
}

func takeBooleanAsText(v any) any {
	switch v {
	case true:
		return "True"
	case false:
		return "False"
	}
	return v
}

func takeNoObject(v any) any {
	if v == nil || v == (absent{}) {
		return map[string]any{}
	}
	return v
}

func takeNoText(v any) any {
	if v == nil || v == (absent{}) {
		return ""
	}
	return v
}

func takeNull(v any) any {
	if v == nil {
		return absent{}
	}
	return v
}

func takeEmpty(v any) any {
	if v == "" {
		return absent{}
	}
	return v
}

func takeOnePath(v any) any {
	if path, ok := v.(string); ok {
		return []any{path}
	}
	return v
}

func takeTimeWithoutZone(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if _, err := time.Parse("2006-01-02T15:04:05", strings.Replace(s, " ", "T", 1)); err == nil {
		return strings.Replace(s, " ", "T", 1) + "Z"
	}
	return v
}

func takeNoTime(v any) any {
	if s, ok := v.(string); ok {
		if t, err := time.Parse(time.RFC3339, s); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return v
		}
	}
	return absent{}
}
