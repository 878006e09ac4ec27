// Package calendar tells the time of day that Torno believes. NTP, a dead battery or the resume of a machine can set
// the wall clock, sometimes to a wrong year. Budgets by the day and deletions by age must not follow each such jump:
//
//	days := calendar.Open(dir, log)
//	days.Now()    // instead of time.Now()
//
// Within a boot the believed time goes on by CLOCK_BOOTTIME, which nobody can set. Between two boots nobody knows how
// long the machine was off, so the calendar then believes a wall clock that is up to LongestOff ahead. Any other wall
// clock that differs by more than Step from the time that has passed has jumped, ahead or back. The log names a jump
// once. The calendar takes the jump, which means that it believes the new time, when the wall clock has stayed there
// for Lasts. Jumps to and fro cannot make many days: after it has taken a jump ahead, the calendar takes the next one
// ahead only when Rest is over.
//
// The calendar is in a file, so that the next process goes on with it. Without the file the calendar believes the wall
// clock.
package calendar
