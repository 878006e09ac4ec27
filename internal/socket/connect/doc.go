// Package connect connects to a socket that lies in a directory of a user whom we trust less than ourselves, such as that of the model
// gateway. That user may put anything under the socket's name: a link to a service of the host's, a second name of that service's
// socket, and something else a moment later. We would speak to that service with our rights.
//
//	fd, err := connect.To(dir, "sock") // what the directory's owner has made, and listens at
//	fd, err := connect.Held(socket)    // a socket that was held, and looked at, before
//
// The name is looked up once. What was found is looked at and connected to by its handle, so it does not matter what becomes of the name.
package connect
