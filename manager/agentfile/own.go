package agentfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"torno/internal/beneath"
)

// takeOwn adds to an agent's prompt the texts that lie beside its agent.md: its own skills, from skills/*.md, and what it
// remembers, from memory.md. Nothing writes memory.md for it.
func (a *Agent) takeOwn(agents *os.Root, name string) error {
	skills, err := ownSkills(agents, path.Join(name, "skills"), a.Skills)
	if err != nil {
		return err
	}
	memory, err := ownText(agents, path.Join(name, "memory.md"))
	if err != nil {
		return err
	}
	texts := slices.Concat([]string{a.Prompt}, skills, []string{memory})
	a.Prompt = strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n\n")
	if len(a.Prompt) > maxFile {
		return fmt.Errorf("its prompt with its skills and memory.md is larger than %d KiB", maxFile>>10)
	}
	return nil
}

// ownSkills returns the texts of those skills in a directory that the agent is to have, sorted by the names of the files.
func ownSkills(agents *os.Root, dir string, wanted *Skills) (texts []string, err error) {
	held, entries, err := list(agents, dir)
	if held == nil {
		return nil, err
	}
	defer held.Close()
	for _, entry := range entries {
		skill, isSkill := strings.CutSuffix(entry.Name(), ".md")
		if !isSkill || entry.IsDir() || !wanted.has(skill) {
			continue
		}
		text, err := ownText(held, entry.Name())
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// has reports whether the agent is to have a skill of its own directory.
func (s *Skills) has(name string) bool {
	switch {
	case s == nil:
		return true
	case s.Names != nil:
		return slices.Contains(s.Names, name)
	}
	return !slices.Contains(s.Exclude, name)
}

// ownText returns the text of a file, or "" if there is no such file.
func ownText(dir *os.Root, name string) (string, error) {
	text, more, err := beneath.ReadFile(dir, name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %w", plain(name), err)
	case more:
		return "", fmt.Errorf("%s is larger than %d KiB", plain(name), maxFile>>10)
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return "", fmt.Errorf("%s is no text in UTF-8", plain(name))
	}
	return strings.TrimSpace(string(text)), nil
}
