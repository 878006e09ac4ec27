// Package route is what the operator says of one way out of a sandbox, and the pure decision on what a child sent.
//
//	routes, err := route.ParseAll(said)     // what the operator wrote; an error names the key and the nearest right word
//	exchange, err := routes[0].Decide(req)  // the request that leaves, or a *Refusal
//	routes[0].API.RefusalBody(refusal)      // the refusal as the client of this API expects it
//
// Decide does no input and no output. Every byte of its Request is the child's, so nothing of it is passed on as it came.
// The request that leaves is made anew of parts that were understood:
//
//   - the host, the scheme and the fixed part of the path are the operator's, always;
//   - the path is taken apart into decoded segments, compared with the route's rules, and encoded again. A segment that
//     decodes to "." or "..", or that holds a separator where the rule has none, is refused, however it was spelled;
//   - a query has the parameters that the rule names, each once. A credential in a query is dropped;
//   - of the header the names that the API needs are passed on, each checked. Unknown names are dropped: so are
//     credentials, cookies, hop-by-hop names and everything that chooses who pays;
//   - a body for a model is one JSON object, in which no key stands twice, in any spelling that an upstream might take for
//     the same key: otherwise the model that we allow could be another one than the upstream runs.
//
// A model's upstream can do more than answer: fetch pages, call servers that the request names, work on after the
// connection has ended. A child without a network would have one again, and a budget would end too early. Those
// tools, fields and betas are taken out of the request (Exchange.Dropped says which) or refused, unless the
// route's reach names them. Where one vendor has the API, only the members of a body leave that are known; vendors
// add others. Of betas, which are fields by another name, only known ones leave in any API.
//
// A route cannot prevent messages: everything that it lets through is one. A child can tell the upstream anything in a prompt, and
// the registry anything in the name of a package that it asks for.
package route
