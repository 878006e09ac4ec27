// Package engine is the client of a Docker engine, and the only package below sandbox/docker that speaks to an engine.
//
// A Client has one method for each kind of call, so that every call is counted and timed in one place. The package also
// interprets the engine's answers: IsGone, IsConflict and Away read its errors, Time reads its times.
//
// An Identity knows which engine a launcher was opened on, and notices when another engine answers at the same address.
// Everything that a launcher has tried and prepared is on its own engine. So it makes nothing on another engine, and a
// container that another engine does not know is not lost.
//
// The package knows nothing of sandboxes except the contents of a Handle.
package engine
