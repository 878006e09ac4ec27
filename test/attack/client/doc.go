// Package client attacks the parent's own side. A child that leaves a trap in the place of its answer, and another process
// of the parent's container that writes into the outbox, try to make package manager read what it should not, wait for
// ever, fill its memory, or take one run's result for another's. Every trap is also set for a careless client, which
// simply reads the file and has to fall for it.
//
// The last part turns round: what such a process forges in the watcher's name is shown to the watcher, as it is shipped
// and on a real engine. It never reads it, so nothing ends, starts or runs twice for it.
package client
