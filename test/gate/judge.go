package main

// mostFailures of a stage are run again; more are no bad luck.
const mostFailures = 3

// Verdict is what a stage's failures come to before any test has run again.
type Verdict struct {
	Red   bool      // whatever comes of running again
	Again []Failure // the tests to run again
}

// Judge decides what the failures of a stage mean.
func Judge(failures []Failure) Verdict {
	v := Verdict{Red: len(failures) > mostFailures}
	for _, f := range failures {
		v.Red = v.Red || f.Cause != "" || isStrict(f.Package)
		if f.Cause == "" && len(failures) <= mostFailures {
			v.Again = append(v.Again, f)
		}
	}
	return v
}
