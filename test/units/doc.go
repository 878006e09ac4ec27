// Package units holds what lies in contrib against the real programs. A unit is read as systemd reads it, also on machines
// that systemd does not run, and a watcher is started behind the same walls by the same means: prctl(2), filters of system
// calls, limits and a control group.
//
//	unit, err := units.Parse(service, dropIns…)     // an error for a setting of which no table says how it is tried
//	walls, err := unit.Walls()                      // plain data, for another process
//	err = walls.Enter()                             // the calling thread, for good; then it executes the program
//
// What a wall lets through and what it stops was compared, call by call, with a service of systemd 252. The sidecar runs in a
// real container, with what compose.yaml gives to it and the programs that the Dockerfile copies.
package units
