// Package weak makes containers that lack Torno's walls, beside the sandboxes that have them. They are the oracles of the
// attacks: what a probe does there it could do, so that what it cannot do in a sandbox is the sandbox's doing.
//
//	places := weak.New(t, dir)                              // skips loudly where no engine answers, and fails in CI
//	said, code := places.Run(places.Unwalled(), "/workspace/prober", "burn")
//	harness.Controls = weak.Controls
//
// All of them are on an image of their own without a file in it. Whatever a test has made goes when it ends.
package weak
