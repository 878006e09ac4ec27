package remains

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// statusFile holds the fields of MassGen's status.json that we use. A child wrote them.
type statusFile struct {
	Coordination struct {
		Phase      string   `json:"phase"`
		Percentage *float64 `json:"completion_percentage"`
	} `json:"coordination"`
	Results struct {
		Winner *string `json:"winner"`
		Votes  votes   `json:"votes"`
	} `json:"results"`
	History []answered `json:"historical_workspaces"`
	Costs   struct {
		Input  float64 `json:"total_input_tokens"`
		Output float64 `json:"total_output_tokens"`
		Cost   float64 `json:"total_estimated_cost"`
	} `json:"costs"`
}

// answered is an answer that an agent of the child gave along the way.
type answered struct {
	AgentID   string `json:"agentId"`
	Label     string `json:"answerLabel"`
	Timestamp string `json:"timestamp"`
	Workspace string `json:"workspacePath"`
}

// votes counts the votes for each answer. It keeps the order of the file, because the order decides a tie.
type votes []struct {
	label string
	count float64
}

// UnmarshalJSON keeps the order, which a map would lose. A vote is a number, or a list of voters.
func (v *votes) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return err // anything but an object counts as no votes
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		label, ok := key.(string)
		var value any
		if err := decoder.Decode(&value); err != nil || !ok {
			return errors.Join(errVotes, err)
		}
		switch value := value.(type) {
		case float64:
			*v = append(*v, struct {
				label string
				count float64
			}{label, value})
		case []any:
			*v = append(*v, struct {
				label string
				count float64
			}{label, float64(len(value))})
		}
	}
	return nil
}

var errVotes = errors.New("votes are malformed")

// parseStatus reads a status file. It returns false if the file is malformed.
func parseStatus(data []byte) (statusFile, bool) {
	var status statusFile
	if err := json.Unmarshal(data, &status); err != nil {
		return statusFile{}, false
	}
	return status, true
}

// saved returns the status of the run as a whole.
func (s statusFile) saved() Saved {
	saved := Saved{
		Phase:      s.Coordination.Phase,
		Presenting: s.Coordination.Phase == "presentation",
		Usage:      TokenUsage{Input: whole(s.Costs.Input), Output: whole(s.Costs.Output), Cost: max(0, s.Costs.Cost)},
	}
	if s.Results.Winner != nil {
		saved.Winner = *s.Results.Winner
	}
	if s.Coordination.Percentage != nil {
		percentage := int(min(whole(*s.Coordination.Percentage), 100))
		saved.Percentage = &percentage
	}
	return saved
}

// whole turns a count from the child into an int64 without overflow.
func whole(n float64) int64 {
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return int64(min(n, 1<<52))
}

// pick chooses an answer: the winner's, otherwise the answer with most votes, otherwise the newest. If no answer has a
// time, it takes the last.
func (s statusFile) pick() (answered, bool) {
	if len(s.History) == 0 {
		return answered{}, false
	}
	if s.Results.Winner != nil && *s.Results.Winner != "" {
		if found, ok := s.newest(func(a answered) bool { return a.AgentID == *s.Results.Winner || a.Label == *s.Results.Winner }); ok {
			return found, true
		}
	}
	most, label := 0.0, ""
	for _, vote := range s.Results.Votes {
		if vote.count > most {
			most, label = vote.count, vote.label
		}
	}
	if most > 0 {
		if found, ok := s.newest(func(a answered) bool { return a.Label == label }); ok {
			return found, true
		}
	}
	return s.newest(func(answered) bool { return true })
}

// newest returns the newest of the matching answers. If several have the same time, or none, it returns the last of
// them.
func (s statusFile) newest(match func(answered) bool) (newest answered, found bool) {
	for _, one := range s.History {
		if match(one) && (!found || strings.Compare(one.Timestamp, newest.Timestamp) >= 0) {
			newest, found = one, true
		}
	}
	return newest, found
}
