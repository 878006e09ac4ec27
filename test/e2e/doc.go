// Package e2e drives the binaries as their users do, with each launcher: a watcher process behind an outbox, requests as
// files, and the engine or the machine asked behind everybody's back what is really there. Stories in which a launcher
// matters are told once more with a watcher that is an ordinary user's.
package e2e
