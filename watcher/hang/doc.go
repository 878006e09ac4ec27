// Package hang makes calls that may never return: to a network file system whose server is gone, to a launcher that does not answer.
// Nothing ends such a call, no context, no signal and no close. So each call has a goroutine of its own, and its caller leaves it there
// when it takes too long. A place with many such calls gets no further one until one of them returns.
package hang
