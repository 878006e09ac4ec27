// Package machine tries Torno on a kernel of its own, with control groups of version 2, which the machine that the tests run
// on need not have: qemu emulates a computer, Debian's kernel starts on it, and process 1 is a program of ours.
//
//	results := m.Run(t, "TestGroupsOfRoot", …)   // tests of package inside, each in a process of its own, on a new machine
//
// What is where:
//
//	machine.go   starts a machine, waits for its end and reads what it has reported
//	disk.go      the disk that all machines start from, each with a copy of its own: our programs and test binaries, and busybox
//	report       how a machine tells of a test, so that nothing that a test or a child prints can be taken for it
//	guest        process 1: mounts, runs one test after the other, reports, and ends the machine
//	inside       the tests that run there
//
// The processor is emulated, never the host's own, so a machine can be had wherever qemu can; it is about ten times slower.
// `scripts/need machine` installs qemu and fetches kernel and busybox into bin/machine. The tests run where CI=true, as in
// `make night`, and are skipped loudly elsewhere.
package machine
