package delegation

// WorkspaceCopy is the value of ProfileOffer.Workspace when the host gives each child a copy of its workspace.
const WorkspaceCopy = "copy"

// BasePrefix begins the name of a directory that stands beside the workspaces of an outbox; a subagent's id follows.
// When the host copies files into that subagent's workspace, it keeps the same files in this directory. No child can
// see the directory, so the parent can compare the workspace with it.
const BasePrefix = ".torno-base-"
