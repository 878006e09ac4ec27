package patch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torno/delegation"
	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

const askedName = "asked.json"

// requests is the content of asked.json: a child's newest request, and the answers of all its requests.
type requests struct {
	Last    string   `json:"last_request_id"`
	Answers []string `json:"answers"` // the paths of the answers of all requests, in the workspace
}

// Asked records a request of a child that has a base, and where in the workspace its answer will be.
func Asked(state, outbox, id, request, answer string) error {
	dir, err := os.OpenRoot(filepath.Join(ownPath(state, outbox, "subagents"), id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	asked, err := readRequests(dir)
	if errors.Is(err, errDamaged) {
		asked = requests{} // it must not stay
	} else if err != nil {
		return err
	}
	asked.Last = request
	if !slices.Contains(asked.Answers, answer) {
		asked.Answers = append(asked.Answers, answer)
	}
	data, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, askedName, data, atomicfile.Durable)
}

var errDamaged = errors.New("it is damaged")

// readRequests returns an empty record if no request was recorded.
func readRequests(dir *os.Root) (asked requests, err error) {
	data, err := dir.ReadFile(askedName)
	if errors.Is(err, fs.ErrNotExist) {
		return asked, nil
	}
	if err != nil {
		return asked, err
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return asked, fmt.Errorf("read %s: %w: %w", askedName, errDamaged, err)
	}
	return asked, nil
}

// answers returns the places of the answers to all requests of the child, as far as they were recorded.
func (b *Base) answers() []string { return append(slices.Clone(b.asked.Answers), b.Answer) }

// isAnswer reports whether a path is the answer to one of the child's requests, or one of the files beside it that init
// writes. They are not part of the child's work.
func (b *Base) isAnswer(p string) bool {
	return slices.ContainsFunc(b.answers(), func(answer string) bool { return isAnswerOf(p, answer) })
}

// isAnswerOf reports whether a path is an answer or one of the files beside it. There is none without an answer.
func isAnswerOf(p, answer string) bool {
	suffix, is := strings.CutPrefix(p, answer)
	return is && answer != "" && slices.Contains(answerSuffixes, suffix)
}

// Init adds one of these suffixes to an answer's name for each file beside the answer. The answer itself has none.
var answerSuffixes = []string{"", delegation.WholeSuffix, delegation.PreviousSuffix, delegation.WholeSuffix + delegation.PreviousSuffix}

// answerThere refuses to put a child's answer where something else is. Init would move that aside before the child
// starts, and the answer would take its place.
func answerThere(p string) error {
	return &delegation.Refusal{
		Code: delegation.CodeAnswerFile, Field: "answer_file",
		Text: fmt.Sprintf("there is already something at %q, and the child's answer would take its place", p),
		Hint: "name another file for the answer, such as --answer torno-answer.txt",
	}
}

// CheckAnswer refuses the place of a request's answer if a child that has a copy already has something there that is no
// answer to an earlier request.
func CheckAnswer(state, outbox, id, answer string, workspace *os.Root) error {
	root, err := os.OpenRoot(ownPath(state, outbox, "subagents"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	base, err := (&Store{root: root}).baseOf(id, workspace)
	if err != nil || answer == "" || slices.Contains(base.answers(), answer) {
		return nil // diff and apply refuse to work without a record, so they cannot take the answer for the child's work
	}
	dir, err := beneath.Dir(workspace, filepath.Dir(answer))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, suffix := range answerSuffixes {
		if _, err := dir.Lstat(filepath.Base(answer) + suffix); !errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(err, answerThere(answer+suffix))
		}
	}
	return nil
}
