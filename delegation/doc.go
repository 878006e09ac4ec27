// Package delegation is the wire between an agent in a container and the host: the files of an outbox.
package delegation
