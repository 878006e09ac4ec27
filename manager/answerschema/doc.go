// Package answerschema checks whether a child's answer is the JSON that its agent's file asks for.
//
//	schema, err := answerschema.Compile(document) // an empty one takes whatever is JSON
//	value, mismatch := schema.Check(answer)
//	if mismatch != nil && !retried {
//		ask(mismatch.Feedback()) // the child's one second try
//	}
//
// # Promises
//
// An answer and a schema are both hostile, and both can make the work of validating grow. So a schema must not be
// recursive, and it is weighed with every reference written out. The answer is measured too. If the product is more
// than maxWork, nothing is validated and the answer does not match. The price: a schema cannot describe trees of
// unbounded depth.
//
// Nothing is fetched. A reference must lead to #/$defs/NAME or #/definitions/NAME of the schema itself. Compile refuses
// any other reference, long before a child runs.
//
// Check returns the value that it validated, encoded again: if an answer has a key twice, two readers of its original
// text could see different values. Numbers keep all their digits; they are compared with the schema's numbers as 64-bit
// floating point.
package answerschema
