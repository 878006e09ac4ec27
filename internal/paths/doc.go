// Package paths knows paths as text, and only as text: how a path is spelled, and whether one lies in another. It opens
// nothing, follows no link and asks no file system, so its answer is "no" or "not yet no"; the proof is the kernel's, when
// a place is opened beneath a held handle (I4).
//
// Every function but Tidy takes tidy paths: one slash between components, no "." and no "..", no slash at the end.
//
//	tidy, err := paths.Tidy("/srv//work/./ws/") // "/srv/work/ws"
//	rel, ok := paths.Below("/srv/work", tidy)   // "ws", true
package paths
