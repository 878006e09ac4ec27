// Package installed tries Torno as its users have it: the packages of `make dist`, on a Debian whose process 1 is systemd.
//
// The machine is this one, with a writable layer in memory over its files and with mounts, processes, control groups and a network of its own
// (testdata/boot): what is installed, started and purged there is nowhere else, and is gone with it. Root and systemd are needed; where they are
// missing the tests are skipped loudly, and fail in CI.
package installed
