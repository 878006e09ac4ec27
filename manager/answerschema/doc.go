// Package answerschema says whether a child's answer is the JSON that its agent's file asks for.
//
//	schema, err := answerschema.Compile(document) // an empty one takes whatever is JSON
//	value, mismatch := schema.Check(answer)
//	if mismatch != nil && !retried {
//		ask(mismatch.Feedback()) // the child's one second try
//	}
//
// # Promises
//
// An answer and a schema are hostile, and validating one against the other is work that both of them can make grow. So a
// schema has no recursion and is weighed with every reference written out; an answer is measured; and where the product is
// more than maxWork, nothing is validated and the answer does not match. What that takes away: schemas of trees whose depth
// nothing bounds.
//
// Nothing is fetched. A reference leads to #/$defs/NAME or #/definitions/NAME of the schema itself, and anything else is
// refused when the schema is compiled, long before a child runs.
//
// A value that Check returns is what was validated, encoded again: two readers of an answer that has a key twice would not
// see the same. Its numbers keep all their digits; they are compared with the schema's as floating point of 64 bits.
package answerschema
