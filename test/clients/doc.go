// Package clients has the real Claude Code and the real Codex, as npm has them, work in sandboxes of both launchers: through the door
// of the model gateway, with a stand-in for the vendor. What is tried is what those programs send and take, of which our own words in
// other tests are only an imitation. No account, no key and no model is used.
//
// They are clients of our tools for models, too, and the conformance suite of the Model Context Protocol (testdata/conformance) asks those
// tools what a client may ask.
//
// test/agents pins and fetches the programs. Where npm or its registry cannot be reached nothing is shown, which is said, and in CI is a
// failure.
package clients
