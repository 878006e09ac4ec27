// Package notice tells clients and operators what keeps the watcher from its work.
//
// A piece of work that may be held up has a Flag: it raises the flag with the reason, and lowers it when it goes on.
// Some trouble gives no sign when it is over. For such trouble there is Recurring: it is raised each time the trouble
// is met, and taken back when that stops. The Board has all flags that are up; its notices go into watcher.json and
// into the operator's status.
package notice
