// Package route reads the operator's routes, the ways out of a sandbox, and decides on each request of a child.
//
//	routes, err := route.ParseAll(said)     // the operator's text; an error names the key and the nearest right word
//	exchange, err := routes[0].Decide(req)  // the request that leaves, or a *Refusal
//	routes[0].API.RefusalBody(refusal)      // the refusal as the client of this API expects it
//
// Decide does no input and no output. A child chooses every byte of its Request, so Decide passes nothing on as it
// came. It makes the request that leaves anew, from parts that it understood:
//
//   - The host, the scheme and the fixed part of the path are always the operator's.
//   - The path is split into decoded segments, compared with the route's rules, and encoded again. Decide refuses a
//     segment that decodes to "." or "..", or that holds a separator where the rule has none, however it is spelled.
//   - A query has only parameters that the rule names, each once. A credential in a query is dropped.
//   - From the header, the fields that the API needs are passed on, each checked. Unknown fields are dropped. So are
//     credentials, cookies, hop-by-hop fields, and every field that chooses who pays.
//   - The body of a request for a model is one JSON object. No key may be there twice, in any spelling that an upstream
//     might take for the same key. Otherwise the upstream could run another model than the allowed one.
//
// A model's upstream can do more than answer: fetch pages, call servers that the request names, or work on after the
// connection has ended. This would give a network back to a child without one, and a budget would end too early. So the
// package takes such tools, fields and betas out of the request (Exchange.Dropped names them) or refuses it, unless the
// route's reach names them. If only one vendor has an API, only known members of a body leave, because that vendor adds
// new ones. Betas are fields by another name, so only known betas leave, in any API.
//
// A route cannot prevent messages: everything that it lets through is one. A child can tell the upstream anything in a
// prompt, and a registry anything in the name of a package that it asks for.
package route
