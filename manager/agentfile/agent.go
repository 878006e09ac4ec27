package agentfile

import (
	"time"

	"torno/manager/answerschema"
)

// DefaultTimeout is the time that an agent has if its file does not set one.
const DefaultTimeout = 120 * time.Second

// mainAgent is the allowed caller if a file names none. It is the parent itself, so no file can describe it.
const mainAgent = "main"

// Agent is the content of an agent's file.
type Agent struct {
	Path           string // below the project's directory, with slashes
	Name           string
	Description    string
	Session        bool // continue one conversation instead of beginning a new one each time
	AllowedCallers []string
	Timeout        time.Duration
	Permissions    Permissions
	Servers        []Server
	Model          string               // "" leaves it to the parent
	Skills         *Skills              // nil if the file does not mention skills
	OutputFormat   string               // "json" or ""
	OutputSchema   *answerschema.Schema // nil if the file asks for no form of answer
	Prompt         string               // the system prompt

	NotGiven []string  // things that the file asks for and Torno does not give, in the order of the file
	Warnings []Warning // unknown keys
}

// Permissions are the rules for an agent's tools, such as Read or Bash(git log:*).
type Permissions struct {
	Allow []string // nil allows all tools, an empty list none
	Deny  []string // stronger than Allow
}

// Server is a Model Context Protocol server that the agent talks to over the server's standard input and output.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
}

// Skills says which skills an agent has: the listed ones, or the common ones without the excluded.
type Skills struct {
	Names         []string
	IncludeGlobal bool
	Exclude       []string
}

// Warning reports a key that means nothing.
type Warning struct {
	Path string
	Line int
	Key  string
	Text string
}

// Task returns the words that an agent gets: the caller's prompt, after the context if there is any.
func Task(prompt, context string) string {
	if context == "" {
		return prompt
	}
	return "Context:\n" + context + "\n\nTask:\n" + prompt
}
