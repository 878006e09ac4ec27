// Package hang makes calls that may never return, for example to a network file system whose server is gone, or to a
// launcher that does not answer. Nothing ends such a call: no context, no signal and no close. So each call has its own
// goroutine, and its caller leaves it there when it takes too long. A place where many calls hang gets no further call
// until one of them returns.
package hang
