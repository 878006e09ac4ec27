package remains

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// statusFile is what is used of MassGen's status.json. A child wrote it.
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

// answered is one answer that an agent of the child's gave on the way.
type answered struct {
	AgentID   string `json:"agentId"`
	Label     string `json:"answerLabel"`
	Timestamp string `json:"timestamp"`
	Workspace string `json:"workspacePath"`
}

// votes are how many votes each answer has, in the order of the file, which decides between equals.
type votes []struct {
	label string
	count float64
}

// UnmarshalJSON keeps the order, which a map would lose. A vote is a number, or a list of voters.
func (v *votes) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return err // anything but an object is no votes
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

// parseStatus reads a status file. A malformed file says nothing.
func parseStatus(data []byte) (statusFile, bool) {
	var status statusFile
	if err := json.Unmarshal(data, &status); err != nil {
		return statusFile{}, false
	}
	return status, true
}

// saved is what the status says of the run as a whole.
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

// whole is a count as a child gave it, within what an int64 can be.
func whole(n float64) int64 {
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return int64(min(n, 1<<52))
}

// pick is the answer to take: the winner's, else the one with most votes, else the newest, else the last.
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

// newest is the newest of the answers that match; of equals, and where none has a time, the last.
func (s statusFile) newest(match func(answered) bool) (newest answered, found bool) {
	for _, one := range s.History {
		if match(one) && (!found || strings.Compare(one.Timestamp, newest.Timestamp) >= 0) {
			newest, found = one, true
		}
	}
	return newest, found
}
