package delegation

// WorkspaceCopy is what a profile says of its workspaces where the host gives each child a copy.
const WorkspaceCopy = "copy"

// BasePrefix begins the name of a directory beside the workspaces of an outbox: what the host has copied into the workspace of the subagent
// whose id follows. No child is given it, so its parent can compare.
const BasePrefix = ".torno-base-"
