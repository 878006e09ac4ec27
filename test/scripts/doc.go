// Package scripts tries the repository's own scripts: that the private engine for tests is whole, is gone afterwards
// however the run ended, and that an engine that somebody else started is used as it is.
package scripts
