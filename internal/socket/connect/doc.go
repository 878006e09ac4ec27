// Package connect connects to a socket in a directory of a user whom we trust less than ourselves, such as the model
// gateway's user. That user may put anything under the socket's name: a link to a service of the host, a second name of
// that service's socket, and something else a moment later. If we connected to such a name, we would speak to that
// service with our rights.
//
//	fd, err := connect.To(dir, "sock") // only if the directory's owner made the socket and listens on it
//	fd, err := connect.Held(socket)    // a socket that the caller holds and has looked at before
//
// To looks the name up once. It checks the file that it found and connects to it by its handle, so it does not matter
// if the name changes later.
package connect
