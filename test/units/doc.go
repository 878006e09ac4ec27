// Package units holds what lies in contrib/systemd against the real programs, on machines that systemd does not run: a
// unit is read as systemd reads it, and a watcher is started behind the same walls by the same means, which are prctl(2), filters of
// system calls, limits and a control group.
//
//	unit, err := units.Parse(service, dropIns…)     // an error for what nobody has said how it is tried
//	walls, err := unit.Walls()                      // plain data, for another process
//	err = walls.Enter()                             // the calling thread, for good; then it executes the program
//
// What a wall lets through and what it stops was compared, call by call, with a service of systemd 252.
package units
