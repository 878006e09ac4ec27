// Package paths knows paths as text only: how a path is spelled, and whether a path lies in another. It opens nothing,
// follows no link and asks no file system. So its "no" is final, but its "yes" is no proof yet. The kernel gives the
// proof, when a place is opened beneath a held handle (I4).
//
// Every function but Tidy takes tidy paths: one slash between components, no "." and no "..", no slash at the end.
//
//	tidy, err := paths.Tidy("/srv//work/./ws/") // "/srv/work/ws"
//	rel, ok := paths.Below("/srv/work", tidy)   // "ws", true
package paths
