// Package e2e drives the three binaries as their users do, on a real engine: a watcher process behind an outbox, requests
// as files, and the engine asked behind everybody's back what is really there.
package e2e
