// Package engine has the engine fail in every way that it can, and the disks, and looks at what comes of the runs, of the
// watcher, and of what clients and operators are told.
//
// What one call can suffer is told with a proxy in front of the engine; what a whole engine can suffer, with private
// engines that the tests start, stop, kill and starve. Nothing is done to the engine that the machine has.
package engine
