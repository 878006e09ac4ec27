// Package notice tells clients and operators what keeps the watcher from its work.
//
// A piece of work that is held up has a Flag: it raises the flag with the reason, and lowers it when it goes on. Trouble of which
// nothing tells that it is over is Recurring: it is told again and again, and taken back when that stops. The Board has all flags that
// are up; what it says goes into watcher.json and into the operator's status.
package notice
