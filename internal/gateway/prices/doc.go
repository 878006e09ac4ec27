// Package prices computes the most that a request may cost, and the real cost of an exchange.
//
// The operator writes the table, by route and model, for a million tokens, in a currency of the operator's choice:
//
//	anthropic:
//	  claude-opus-*:  {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25, max_output: 64000, max_input: 1000000, image: 5000}
//	  claude-haiku-*: {input: 1, output: 5}
//	ollama:
//	  "*": {input: 0, output: 0}
//
// A name that ends with a star covers all models that begin with it. The exact name comes first, and then the longest
// beginning. If a field is absent, its usual maximum counts: a read from a cache costs as much as input, a write into
// one twice as much.
//
// A model without a price costs the highest price of its route, field by field, and Known says so. On a route without
// any price, amounts are Unpriced: a budget that limits money refuses them.
//
// No sum uses a float. If a configuration reader made a float of a price, the package reads it back by its shortest
// decimal. Each amount is rounded up. If an upstream charges more for a long prompt, write the higher price.
//
// If it charges more only in a long window, and a request asks for that window with a beta, write that price below
// long:
//
//	claude-sonnet-4-5: {input: 3, output: 15, max_input: 200000, long: {input: 6, output: 22.5, max_input: 1000000}}
//
// Such a request is bounded by the higher of both prices, field by field, and by long's max_input. It costs long's
// price if its prompt was longer than the max_input beside long. A model without long, or without a price of its own,
// has no long window.
//
// # The bound
//
// Each token of text is at least one byte of the request's body, and an API adds at most Overhead tokens to a prompt.
// An image counts as the model's image tokens, or DefaultImage, however many bytes it has. A document, sound, a film,
// or content that a request only points to counts as the most that the model can read: its max_input, or
// DefaultMaxInput. Each input token counts at the highest price that input can have.
//
// If the request does not bound its output, the model's max_output counts, or DefaultMaxOutput. If the table has a
// max_input, it bounds every request of that model. If a model has no price, these limits are unknown.
package prices
