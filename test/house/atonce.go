package house

import (
	"flag"
	"testing"
)

// AtOnce has up to n tests of a package go on at once, however many processors there are. It is for the TestMain of a package whose
// tests mostly wait.
func AtOnce(n string) {
	flag.Parse()
	if err := flag.Set("test.parallel", n); err != nil {
		panic(err)
	}
}

// Together is Each or Everybody for a story that may be told beside others, its own tellings among them: it holds no times against each
// other, and looks at nothing but its own house.
func Together(t *testing.T, each func(*testing.T, func(*testing.T, string)), story func(t *testing.T, sandbox string)) {
	t.Helper()
	t.Parallel()
	each(t, func(t *testing.T, sandbox string) {
		t.Parallel()
		story(t, sandbox)
	})
}
