//go:build linux && !race

package main_test

const raceEnabled = false
