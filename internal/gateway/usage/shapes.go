package usage

import "maps"

// shape describes how the answers of an API tell their usage.
type shape struct {
	whole *node // the places to look at in an answer that is one document
	event *node // the places to look at in an event of a stream
	// ends reports whether an event completes the usage of a stream. all holds everything so far, this event included.
	ends func(all *found, event *found) bool
	// endsByDone means that [DONE] completes the usage of a stream.
	endsByDone bool
	// told reports whether a whole document tells its usage.
	told func(*found) bool
	// usage computes tokens from the numbers. It returns false if the numbers contradict each other.
	usage func(*found) (Usage, bool)
}

// object returns a node for an object with these keys.
func object(keys map[string]*node) *node { return &node{keys: keys} }

func at(s slot) *node { return &node{slot: s} }

func list(each *node) *node { return &node{each: each} }

// shapes are the APIs whose usage is known, by their names in routes.
var shapes = map[string]shape{
	"anthropic":        anthropic,
	"openai-responses": responses,
	"openai-chat":      chat,
	"google":           google,
	"bedrock":          bedrock,
}

// tally collects the numbers of all documents of an answer.
type tally struct {
	shape shape
	all   found
	done  bool
	lost  bool // a document could not be read, so its numbers are missing
}

// whole takes the only document of an answer.
func (t *tally) whole(f *found) {
	t.all.raise(f)
	t.all.kind = f.kind
	t.done = t.shape.told(&t.all)
}

// event takes one document of a stream.
func (t *tally) event(f *found) {
	t.all.raise(f)
	t.done = t.done || t.shape.ends(&t.all, f)
}

func (t *tally) usage() (Usage, bool) {
	if !t.done || t.lost || t.all.bad {
		return Usage{}, false
	}
	u, ok := t.shape.usage(&t.all)
	if !ok || min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteHour) < 0 || u.CacheWriteHour > u.CacheWrite {
		return Usage{}, false
	}
	return u, true
}

// parts computes tokens from numbers that do not contain each other.
func parts(f *found) (Usage, bool) {
	n := &f.numbers
	return Usage{
		Input: n[input], Output: n[output], CacheRead: n[cacheRead], CacheWrite: n[cacheWrite], CacheWriteHour: writtenForAnHour(f),
	}, f.seen[input] && f.seen[output]
}

// writtenForAnHour returns how many tokens the upstream wrote into its cache for an hour, which costs more than for five
// minutes. If the answer does not say, all written tokens count.
func writtenForAnHour(f *found) int64 {
	if f.seen[cacheWriteHour] {
		return f.numbers[cacheWriteHour]
	}
	return f.numbers[cacheWrite]
}

// contained computes tokens from numbers of which the input includes the cache reads and the cache writes. If the total
// is above the sum of its parts, the rest is output, because some servers leave thinking out of the output.
func contained(f *found) (Usage, bool) {
	n := &f.numbers
	all := n[input] + n[toolInput]
	return Usage{
		Input:          all - n[cacheRead] - n[cacheWrite],
		Output:         max(n[output]+n[thinking], n[total]-all),
		CacheRead:      n[cacheRead],
		CacheWrite:     n[cacheWrite],
		CacheWriteHour: writtenForAnHour(f),
	}, f.seen[input] && (f.seen[output] || f.seen[total])
}

var anthropic = shape{
	whole: object(map[string]*node{"type": at(kind), "usage": anthropicUsage(input)}),
	event: object(map[string]*node{
		"type":    at(kind),
		"message": object(map[string]*node{"usage": anthropicUsage(startInput)}),
		"usage":   anthropicUsage(input),
	}),
	told:  func(f *found) bool { return f.kind == "message" },
	ends:  func(all, event *found) bool { return event.kind == "message_stop" && all.seen[output] },
	usage: func(f *found) (Usage, bool) { return parts(started(f)) },
}

// anthropicUsage describes the usage of the Messages API. It is kept in five slots, beginning with first.
func anthropicUsage(first slot) *node {
	return object(map[string]*node{
		"input_tokens":                at(first),
		"output_tokens":               at(first + output - input),
		"cache_read_input_tokens":     at(first + cacheRead - input),
		"cache_creation_input_tokens": at(first + cacheWrite - input),
		"cache_creation":              object(map[string]*node{"ephemeral_1h_input_tokens": at(first + cacheWriteHour - input)}),
	})
}

// started uses the numbers from a stream's start if later ones are missing or lower.
func started(f *found) *found {
	all := *f
	for i := input; i <= cacheWriteHour; i++ {
		start := i + startInput - input
		if f.seen[start] {
			all.count(i, f.numbers[start])
		}
	}
	return &all
}

var responses = shape{
	whole: object(map[string]*node{"object": at(kind), "usage": responsesUsage}),
	event: object(map[string]*node{"type": at(kind), "response": object(map[string]*node{"usage": responsesUsage})}),
	told:  func(f *found) bool { return f.kind == "response" },
	ends: func(_, event *found) bool {
		return event.kind == "response.completed" || event.kind == "response.incomplete" || event.kind == "response.failed"
	},
	usage: contained,
}

var responsesUsage = object(map[string]*node{
	"input_tokens":  at(input),
	"output_tokens": at(output),
	"total_tokens":  at(total),
	"input_tokens_details": object(map[string]*node{
		"cached_tokens": at(cacheRead), "cache_write_tokens": at(cacheWrite),
	}),
})

var chat = shape{
	whole:      object(map[string]*node{"usage": chatUsage}),
	event:      object(map[string]*node{"usage": chatUsage}),
	told:       func(f *found) bool { return f.seen[input] },
	ends:       func(_, _ *found) bool { return false },
	endsByDone: true,
	usage:      contained,
}

var chatUsage = object(map[string]*node{
	"prompt_tokens":     at(input),
	"completion_tokens": at(output),
	"total_tokens":      at(total),
	"prompt_tokens_details": object(map[string]*node{
		"cached_tokens": at(cacheRead), "cache_write_tokens": at(cacheWrite),
	}),
})

var googleAnswer = object(map[string]*node{
	"candidates": list(object(map[string]*node{"finishReason": at(finish)})),
	"usageMetadata": object(map[string]*node{
		"promptTokenCount":        at(input),
		"toolUsePromptTokenCount": at(toolInput),
		"candidatesTokenCount":    at(output),
		"thoughtsTokenCount":      at(thinking),
		"cachedContentTokenCount": at(cacheRead),
		"totalTokenCount":         at(total),
	}),
})

// google describes answers that tell the total so far in each piece. A stream that is not server-sent events is one
// array of the pieces.
var google = shape{
	whole: &node{keys: googleAnswer.keys, each: googleAnswer},
	event: googleAnswer,
	told:  func(f *found) bool { return f.seen[finish] || !f.seen[output] }, // an array can end in an error
	ends:  func(all, _ *found) bool { return all.seen[finish] },
	usage: contained,
}

var converseUsage = map[string]*node{
	"inputTokens":           at(input),
	"outputTokens":          at(output),
	"cacheReadInputTokens":  at(cacheRead),
	"cacheWriteInputTokens": at(cacheWrite),
}

// bedrock has two kinds of API: Converse, and each model's own. Of the models' own APIs, only the Messages API is
// known.
var bedrock = shape{
	whole: object(map[string]*node{"usage": merged(converseUsage, anthropicUsage(input).keys)}),
	event: object(map[string]*node{"usage": object(converseUsage), "bytes": {body: true}}),
	told:  func(f *found) bool { return f.seen[input] },
	ends: func(all, event *found) bool {
		return event.seen[output] && event.kind == "" || event.kind == "message_stop" && all.seen[output]
	},
	usage: func(f *found) (Usage, bool) { return parts(started(f)) },
}

func merged(all ...map[string]*node) *node {
	keys := map[string]*node{}
	for _, some := range all {
		maps.Copy(keys, some)
	}
	return object(keys)
}
