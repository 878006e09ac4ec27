// Package scripts tries the repository's own scripts: that the private engine for tests is whole, is gone afterwards
// however the run ended, and that an engine that somebody else started is used as it is; that runsc is built once, and what
// does not work somewhere is left out there; and that no fuzz test is left out by the one that runs them.
package scripts
