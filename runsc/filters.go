package main

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

// compiledFilters are the sentry's filters that the build has compiled: scripts/runsc has what precompile prints built in
// place of this file. With none, as for another processor than the one that builds, the sentry compiles its filter itself.
func compiledFilters() []precompiledseccomp.Program { return nil }
