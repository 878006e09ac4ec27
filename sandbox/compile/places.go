package compile

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"torno/delegation"
	"torno/internal/paths"
)

// The child finds places here that its parent named relative to the outbox. So a parent need not know the host's path
// of the directory that both share.
const (
	relativeWorkspace = "/workspace"
	relativeContext   = "/context"
)

// askedPath is a path of the request that policy allows.
type askedPath struct {
	text   string // as the request wrote it
	field  string // the request's field with this path
	code   delegation.Code
	target string // as the child will see it
	here   string // as the watcher sees it
	root   string // the operator's directory that holds it
}

func (p askedPath) refuse(text, hint string) *delegation.Refusal {
	return &delegation.Refusal{Code: p.code, Field: p.field, Text: text + shown(p.text), Hint: hint}
}

// findWorkspace checks the workspace against the allowed roots. The refusal has the same text as MassGen's.
func (c *compiler) findWorkspace() *delegation.Refusal {
	w := askedPath{text: c.req.Workspace, field: "workspace", code: delegation.CodeWorkspace}
	const notAllowed = "Workspace path not in allowed roots: "
	if err := c.locate(&w, relativeContext); err != nil {
		return w.refuse(notAllowed, err.Error())
	}
	if !path.IsAbs(w.text) {
		w.target = relativeWorkspace
	}
	root, ok := outermost(c.policy.Allow, w.here)
	if !ok {
		roots, _ := c.policy.Views()
		return w.refuse(notAllowed, c.advice(roots, "ask for a directory below ", "allows"))
	}
	if why := c.policy.kept(w.here); why != "" {
		return w.refuse("Workspace path is kept from sandboxes: ", why)
	}
	if why := c.policy.notForWriting(w.here); why != "" {
		return w.refuse("Workspace path is not for writing: ", why)
	}
	w.root = root
	c.workspace = w
	return nil
}

// findAnswer sets the answer file's path as the child will see it. If the request names no file, it is answer.txt.
func (c *compiler) findAnswer() *delegation.Refusal {
	rel := "answer.txt"
	if answer := c.req.AnswerFile; answer != "" {
		var err error
		if rel, err = c.answerInWorkspace(answer); err != nil {
			return &delegation.Refusal{
				Code: delegation.CodeAnswerFile, Field: "answer_file",
				Text: "Answer file is not in the workspace: " + shown(answer), Hint: err.Error(),
			}
		}
	}
	c.spec.Answer.Path = path.Join(c.workspace.target, rel)
	return nil
}

// answerInWorkspace returns the path of the answer file within the workspace. A relative path starts in the workspace.
// An absolute path is the parent's view; for a relative workspace it may also be the child's view.
func (c *compiler) answerInWorkspace(text string) (string, error) {
	tidy, err := paths.Tidy(text)
	if err != nil {
		return "", err
	}
	rel, ok := tidy, true
	if path.IsAbs(tidy) {
		if rel, ok = paths.Below(c.workspace.here, c.policy.here(tidy)); !ok && !path.IsAbs(c.workspace.text) {
			rel, ok = paths.Below(c.workspace.target, tidy)
		}
	}
	if !ok {
		return "", fmt.Errorf("name a file below %s, or one relative to it", shown(c.workspace.target))
	}
	if rel == "." {
		return "", errors.New("it is the workspace itself; name a file in it")
	}
	return rel, nil
}

// findContext checks every context path against the readable roots.
func (c *compiler) findContext() *delegation.Refusal {
	asked, refusal := c.askedContext()
	if refusal != nil {
		return refusal
	}
	const most = delegation.MaxContextPaths
	if len(asked) > most {
		return &delegation.Refusal{
			Code: delegation.CodeContext, Field: asked[most].field,
			Text: fmt.Sprintf("%d context paths are too many, at most %d are allowed", len(asked), most),
			Hint: "name a directory that holds several of them",
		}
	}
	for _, p := range asked {
		if refusal := c.addContext(p); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *compiler) addContext(p askedPath) *delegation.Refusal {
	if err := c.locate(&p, relativeContext); err != nil {
		return p.refuse("Context path is malformed: ", err.Error())
	}
	root, ok := outermost(c.policy.readable(), p.here)
	if !ok {
		_, roots := c.policy.Views()
		return p.refuse("Context path not in readable roots: ", c.advice(roots, "ask for a path below ", "may read"))
	}
	if why := c.policy.kept(p.here); why != "" {
		return p.refuse("Context path is kept from sandboxes: ", why)
	}
	p.root = root
	return c.keepContext(p)
}

// keepContext adds a context path, unless the child sees the place anyway.
func (c *compiler) keepContext(p askedPath) *delegation.Refusal {
	if rel, ok := paths.Below(c.workspace.here, p.here); ok {
		at := path.Join(c.workspace.target, rel)
		c.warnOfContext("context path %s is in the workspace: the child has it at %s and may write it", shown(p.text), shown(at))
		return nil
	}
	if paths.Within(c.workspace.target, p.target) {
		return p.refuse("Context path would lie in the workspace, where the host has something else: ",
			"choose a context path beside or above the workspace")
	}
	for _, earlier := range c.context {
		switch {
		case earlier.target != p.target:
		case earlier.here != p.here:
			return p.refuse("Context path would hide another one: ", "the child would see both at "+shown(p.target))
		default:
			return nil
		}
	}
	c.context = append(c.context, p)
	return nil
}

// locate fills in the views of a place. A relative path starts in the outbox, and appears to the child below ours.
func (c *compiler) locate(p *askedPath, ours string) error {
	tidy, err := paths.Tidy(p.text)
	if err != nil {
		return err
	}
	if path.IsAbs(tidy) {
		p.target, p.here = tidy, c.policy.here(tidy)
	} else {
		p.target, p.here = path.Join(ours, tidy), path.Join(c.policy.Dir, tidy)
	}
	if longest := max(len(p.target), len(p.here)); longest > paths.Max {
		return fmt.Errorf("it becomes %d bytes long, at most %d are allowed", longest, paths.Max)
	}
	return nil
}

// notForWriting returns the reason why a place below an allowed root cannot be a workspace; "" if it can. A root holds
// workspaces and is never one itself.
func (p Policy) notForWriting(here string) string {
	switch {
	case slices.Contains(p.Allow, Root(here)):
		return "it is an allowed root; name a directory in it, a different one for each subagent"
	case !p.forWriting(here):
		return "it is, holds or lies in a root that is for reading only"
	}
	return ""
}

// forWriting reports whether a place lies below an allowed root and does not touch a root for reading. Of nested roots
// the innermost counts, so a root for reading inside a root for writing stays for reading only.
func (p Policy) forWriting(here string) bool {
	innermost := ""
	for _, root := range p.Allow {
		if paths.Within(string(root), here) && len(root) > len(innermost) {
			innermost = string(root)
		}
	}
	for _, root := range p.Read {
		if len(root) > len(innermost) && paths.Nested(string(root), here) {
			return false
		}
	}
	return innermost != ""
}

// kept returns the reason why a place of the host may not be mounted; "" if it may.
func (p Policy) kept(here string) string {
	if paths.Within(here, p.Dir) {
		return "it is or holds the outbox, where no child may write or read requests"
	}
	for _, hidden := range p.Hidden {
		if paths.Nested(here, hidden) {
			return "it is, holds or lies in a place that the operator keeps from every sandbox"
		}
	}
	return ""
}
