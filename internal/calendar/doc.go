// Package calendar tells which time of day is believed. The wall clock is set by NTP, by a dead battery and by a machine that is
// resumed, and sometimes to a wrong year; what is paid by the day or deleted by its age must not follow each such jump:
//
//	days := calendar.Open(dir, log)
//	days.Now()    // instead of time.Now()
//
// Within a boot time goes on by CLOCK_BOOTTIME, which no one sets. Between two boots nobody knows how long the machine was off, so a
// wall clock up to LongestOff ahead of what is known is believed. Any other wall clock that is further than Step from the time
// that has passed has jumped, ahead or back. A jump is said once in the log, and is taken when the wall clock has stayed there for
// Lasts. Jumps to and fro cannot make many days: one ahead that follows another within Rest is taken when that time is over.
//
// The calendar is in a file, so that the next process goes on with it. Without the file the wall clock is believed.
package calendar
