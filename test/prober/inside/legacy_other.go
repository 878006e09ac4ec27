//go:build linux && !amd64

package inside

func legacyProbes() []probe { return nil }
