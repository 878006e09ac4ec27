// Package crash kills the watcher at every point between two effects, with each launcher, has the next one take over, and
// looks at what came of it: one sandbox for the key, one start, one response with the right reason, and nothing left. What
// stands beside a sandbox of gVisor is killed as well, alone and together with the watcher, the keeper at each of its own
// points. A watcher that is an ordinary user's is killed where its launcher differs from root's.
//
// The points are calls of internal/crash.At in the packages watcher and keeper. TestEveryEffectHasAPoint fails on an effect
// of the watcher's without one.
package crash
