// Package platforms builds the house for the systems and processors on which it is not tested: everything for Linux on
// arm64, and for macOS what works there, with stubs for the rest.
package platforms
