// Package inside are the tests that run on a machine that package machine starts, as root and with control groups of version
// 2. Elsewhere they are left out: they make groups and users wherever they like.
package inside
