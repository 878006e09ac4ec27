// Package agents has the real Claude Code and the real Codex, as npm has them, for those who show what they do in sandboxes: the tests of
// test/clients and the demo of test/demo.
//
// The directory npm pins the versions and what their archives contain. Each is fetched once, into the user's cache.
package agents
