// Package workspace holds the directory in which a run works, and looks at it.
//
//	Open ► Watch ► Inspect ► Close
//
// Open holds the directory, and says which directories lie above it. While the agent runs, Watch looks at how much is in it. When the
// last process is gone, the run has what is left looked through: Report puts it into words. Disks asks for the free space below all
// workspaces, and ends the run that wrote most where too little is left.
//
// A file system may hang. Each call to one has a goroutine of its own, and is left behind when it takes too long (package hang).
package workspace
