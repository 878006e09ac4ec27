// Package compile turns a request into something that can be launched. Compile takes a decoded request and the Policy of the
// outbox it came from, and returns a sandbox.Spec or a refusal. It opens no file, asks no clock and draws no random number,
// so that all of policy is tested as a table of texts:
//
//	spec, warnings, err := compile.Compile(request, policy)
//	if refusal, ok := errors.AsType[*delegation.Refusal](err); ok {
//		// refusal.Code, refusal.Field, refusal.Text and refusal.Hint go into the response
//	}
//
// What the package promises:
//   - A request chooses its task, a workspace under the allowed roots, read-only context under the readable roots, a
//     timeout within the profile's bounds, and one of the profiles on offer. Nothing else of it changes a Spec (I2).
//   - What is not allowed is refused with the field that is to blame, never dropped or weakened (I3). What was adjusted
//     without harm, such as a timeout over the maximum, is a warning in the response.
//   - Paths are checked here as text and only as text: a path may be refused here, but is not yet accepted (I4).
//   - The child's environment is complete in the Spec, and nothing in it comes from the host's (I7).
package compile
