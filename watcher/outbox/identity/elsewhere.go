package identity

import "fmt"

// ElsewhereError means that an outbox's name does not lead to the outbox's own directory.
type ElsewhereError struct {
	Name, Path string
	Whose      string // the outbox that has the other directory, "" if none has
	Unfinished bool   // runs of the outbox have no end or no answer yet
	Requests   bool   // requests lie in the other directory
	Left       bool   // the other directory left the path while the watcher looked at it
	Twin       string // an outbox whose directory has the same numbers, "" for none
	Closed     error  // why the directory, or a root of the outbox, could not be opened
}

func (e *ElsewhereError) Unwrap() error { return e.Closed }

func (e *ElsewhereError) Error() string {
	switch {
	case e.Closed != nil:
		return fmt.Sprintf("outbox %s cannot be served yet: %v; the watcher keeps looking", e.Name, e.Closed)
	case e.Left:
		return fmt.Sprintf("outbox %s led to another directory than before, and that directory left %s while the watcher looked at it; "+
			"the watcher looks again as soon as a directory is there", e.Name, e.Path)
	case e.Twin != "":
		return e.twin()
	}
	leads, stake := "another directory than before", "the right directory may not be mounted"
	if e.Whose != "" {
		leads = "the directory of the outbox that was called " + e.Whose
	}
	if e.Requests {
		stake = "requests lie in that directory"
	}
	if e.Unfinished {
		stake = "runs of the outbox are unfinished"
	}
	return fmt.Sprintf("outbox %[1]s leads to %[2]s, and that is %[3]s; %[4]s. Mount or move the right directory there, or say which outbox this is: "+
		"`watcher outbox accept %[1]s --same` if this directory is the outbox from now on, --new if it is another outbox",
		e.Name, e.Path, leads, stake)
}

// twin returns the text for a directory that looks like another outbox's.
func (e *ElsewhereError) twin() string {
	text := fmt.Sprintf("outbox %s leads to %s, and the numbers of its file system do not tell that directory from the directory of outbox %s: one is a "+
		"copy of the other's disk, or the file system has no number, or it is one directory with two names. If it is one directory, remove one "+
		"name from the configuration; otherwise say which outbox this is: ", e.Name, e.Path, e.Twin)
	if e.Whose != "" {
		text += fmt.Sprintf("`watcher outbox accept %s --same` if it is the outbox that was called %s, or ", e.Name, e.Whose)
	}
	return text + fmt.Sprintf("`watcher outbox accept %s --new` if it is an outbox of its own", e.Name)
}
