// Package prices says what a request may cost at most, and what an exchange did cost.
//
// The table is the operator's: by route and model, for a million tokens, in the currency of the operator's choice:
//
//	anthropic:
//	  claude-opus-*:  {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25, max_output: 64000, max_input: 1000000, image: 5000}
//	  claude-haiku-*: {input: 1, output: 5}
//	ollama:
//	  "*": {input: 0, output: 0}
//
// A name with a star behind it is of all models that begin so; the exact name counts before it, and a longer one before a
// shorter one. What is absent is the dearest that is usual: a read from a cache costs as much as input, a write into one
// twice as much.
//
// A model without a price costs the dearest of its route, thing by thing, and Known says so. A route without any price has
// amounts that are Unpriced: a budget that limits money allows none of them.
//
// No float is in any sum: what a configuration reader made a float of is read back by its shortest decimal, and each
// amount is rounded up. Where an upstream takes more for a long prompt, write the higher price.
//
// Where it takes more in a long window only, for which a request has to ask by a beta, write that price below long:
//
//	claude-sonnet-4-5: {input: 3, output: 15, max_input: 200000, long: {input: 6, output: 22.5, max_input: 1000000}}
//
// Such a request is bounded by the dearer of both, thing by thing, and by long's max_input. It costs long's price
// if its prompt was longer than the max_input beside long. A model without long, or without a price of its own,
// has no long window.
//
// # The bound
//
// A token of a text is at least one byte of the request's body, and what an API adds to the prompt on its own is within
// Overhead. An image is a model's image tokens, or DefaultImage, whatever its bytes are. A document, sound, a film, and what a
// request only points to are bounded by what the model can read at all: its max_input, or DefaultMaxInput. Each token is counted
// at the dearest that input can cost.
//
// Where the request does not say how much the model may write, the model's max_output counts, or DefaultMaxOutput. A max_input
// that the table says bounds every request of the model. Of a model without a price nothing is known of these.
package prices
