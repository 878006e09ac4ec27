package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Trial is the result of an attack.
type Trial struct {
	Row    string // of docs/THREATS.md
	Where  string // which launcher and way, or which reader
	Tried  int
	Held   int  // how many of the tries failed, which is what we want
	Oracle bool // the same attack succeeded, in this run, where the defence was taken away
	Note   string
}

// Reports and length are how `make attack` speaks to the tests.
const (
	reportsVariable = "TORNO_ATTACK_REPORTS" // a directory for what is recorded
	lengthVariable  = "TORNO_ATTACK"         // "long": as long as it is worth
)

// Long says whether attacks are tried at length, and not just long enough for every change.
func Long() bool { return os.Getenv(lengthVariable) == "long" }

// LongEnvironment is the environment of tests that attack at length and write what they record into a directory.
func LongEnvironment(reports string) []string {
	return append(os.Environ(), lengthVariable+"=long", reportsVariable+"="+reports)
}

// Times is how often to try.
func Times(short, long int) int {
	if Long() {
		return long
	}
	return short
}

// Record fails the test unless every try was held off, the oracle is alive and the row is on the page.
func Record(t testing.TB, trial Trial) {
	t.Helper()
	t.Logf("%s, %s: tried %d, held off %d, oracle alive: %t. %s", trial.Row, trial.Where, trial.Tried, trial.Held, trial.Oracle, trial.Note)
	if fault := trial.fault(); fault != "" {
		t.Errorf("attack %s, %s: %s", trial.Row, trial.Where, fault)
	}
	if dir := os.Getenv(reportsVariable); dir != "" {
		if err := write(dir, trial); err != nil {
			t.Errorf("the report of attack %s is not written: %v", trial.Row, err)
		}
	}
}

// fault says what is wrong with a trial.
func (r Trial) fault() string {
	page, err := ReadPage()
	switch {
	case err != nil:
		return err.Error()
	case page.Row(r.Row) == nil:
		return "docs/THREATS.md has no such row"
	case r.Tried == 0:
		return "nothing was tried"
	case r.Held != r.Tried:
		return fmt.Sprintf("%d of %d tries got through", r.Tried-r.Held, r.Tried)
	case !r.Oracle:
		return "the oracle is dead: the attack does not succeed without the defence either, so that nothing is proved"
	}
	return ""
}

// write adds a file to the reports. Tests of many packages do so at once, so each trial has a file of its own.
func write(dir string, trial Trial) error {
	data, err := json.Marshal(trial)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, trial.Row+"-*.json")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	closed := file.Close()
	if err == nil {
		err = closed
	}
	return err
}

// Reports are all trials that were recorded in a directory.
func Reports(dir string) ([]Trial, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []Trial
	for _, file := range files {
		var trial Trial
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &trial)
		}
		if err != nil {
			return nil, fmt.Errorf("read the report %s: %w", file, err)
		}
		all = append(all, trial)
	}
	return all, nil
}
