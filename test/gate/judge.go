package main

// most failures are worth running again; more are no bad luck.
const most = 3

// Verdict is what a stage's failures come to before any test has run again.
type Verdict struct {
	Red   bool      // whatever comes of running again
	Again []Failure // the tests to run again
}

// Judge decides what the failures of a stage mean. ok: go test ended with 0.
func Judge(failures []Failure, ok bool) Verdict {
	v := Verdict{Red: ok != (len(failures) == 0) || len(failures) > most}
	for _, f := range failures {
		v.Red = v.Red || f.Cause != "" || isStrict(f.Package)
		if f.Test != "" && len(failures) <= most {
			v.Again = append(v.Again, f)
		}
	}
	return v
}
