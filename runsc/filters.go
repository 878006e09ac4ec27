package main

import "gvisor.dev/gvisor/pkg/seccomp/precompiledseccomp"

// compiledFilters returns the sentry's filters that the build has compiled: scripts/runsc replaces this file with the
// output of precompile. Without that, for example in a build for another processor, the list is empty and the sentry
// compiles its filter itself.
func compiledFilters() []precompiledseccomp.Program { return nil }
