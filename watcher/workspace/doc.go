// Package workspace holds the directory where a run works, and looks at it.
//
//	Open ► Watch ► Inspect ► Close
//
// Open holds the directory and finds out which directories lie above it. While the agent runs, Watch looks at how much
// the directory holds. When the last process is gone, the run has the directory inspected, and Report puts the findings
// into words. Disks asks for the free space of the file systems of all workspaces; if too little is left on one, it
// ends the run that wrote most there.
//
// A file system may hang. Therefore each call to one has its own goroutine, which is left behind when the call takes
// too long (package hang).
package workspace
