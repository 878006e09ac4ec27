// Package engine is the client of a Docker engine, and the only package below sandbox/docker that speaks to one.
//
// A Client has one method for each kind of call, so that every call is counted and timed in one place. What the engine's answers mean is
// here as well: IsGone, IsConflict and Away read its errors, Time reads its times.
//
// An Identity knows which engine a launcher was opened on, and notices when another one answers at its address. What a launcher has tried
// and prepared is that engine's, so nothing is made on another one, and a container that another one does not know is not lost.
//
// The package knows nothing of sandboxes but what a Handle says.
package engine
