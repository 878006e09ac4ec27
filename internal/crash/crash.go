// Package crash lets a test kill the watcher at a named point. The points stand between the effects of a run:
// everything before the point is done, nothing after it is done, and no process had the chance to clean up. In a
// program that is built without the tag crashpoints, At does nothing and costs nothing.
//
// A program that is built with the tag dies at the point that TORNO_CRASH names, as if by `kill -9`. With
// "launch.created" it dies when it reaches the point for the first time, with "launch.created:3" for the third time.
package crash
