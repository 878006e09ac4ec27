// Package compile turns a request into something that can be launched. Compile takes a decoded request and the Policy
// of its outbox, and returns a sandbox.Spec or a refusal. It opens no file, asks no clock and draws no random number.
// So tests can cover all of policy with a table of texts:
//
//	spec, warnings, err := compile.Compile(request, policy)
//	if refusal, ok := errors.AsType[*delegation.Refusal](err); ok {
//		// refusal.Code, refusal.Field, refusal.Text and refusal.Hint go into the response
//	}
//
// The package promises:
//   - A request chooses its task, a workspace under the allowed roots, read-only context under the readable roots, a
//     timeout within the profile's bounds, and one of the profiles on offer. Nothing else in a request changes a Spec
//     (I2).
//   - If a request asks for something that is not allowed, it is refused, and the refusal names the field to blame.
//     Nothing is silently dropped or weakened (I3). A harmless adjustment, such as a timeout over the maximum, becomes
//     a warning in the response.
//   - Paths are checked here only as text. Such a check can refuse a path, but it never accepts one for good (I4).
//   - The Spec holds the child's complete environment. Nothing in it comes from the host's environment (I7).
package compile
