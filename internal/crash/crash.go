// Package crash lets a test kill the watcher at a named point. The points stand between the effects of a run: what was
// done before one is done, what comes after it is not, and no process had the chance to clean up. In a program that is built
// without the tag crashpoints, At does nothing and costs nothing.
//
// A program that is built with the tag dies at the point that TORNO_CRASH names, as if by `kill -9`: "launch.created" the
// first time it comes by, "launch.created:3" the third.
package crash
