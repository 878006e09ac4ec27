// Package prices says what a request may cost at most, and what an exchange did cost.
//
// The table is the operator's: by route and model, for a million tokens, in the currency of the operator's choice:
//
//	anthropic:
//	  claude-opus-*:  {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25, max_output: 64000}
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
// # The bound
//
// A token is at least one byte of the request's body, and what an API adds to the prompt on its own is within
// Overhead. Each of them is counted at the dearest that input can cost. Files that a request only points to are not in its body: an
// image by its address, a conversation that the upstream stores. Such an exchange can cost more than its bound, and Cost says
// what.
//
// Where the request does not say how much the model may write, the model's max_output counts, or DefaultMaxOutput.
package prices
