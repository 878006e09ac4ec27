// Package coarse gives tests a file system that stamps files by the second and reuses an inode's number at once, so that
// another request's file is soon told from the one before by nothing but its content.
package coarse
