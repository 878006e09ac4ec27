// Package bundle makes the input of gVisor's runtime for a sandbox: its configuration, in the OCI format, and the root
// under all mounts.
//
//	r := bundle.Recipe{Root: root, Nonce: nonce, UID: uid, GID: gid, Mounts: views, Limits: limits}
//	err := r.LayHost(tree, system)   // the host's programs, or LayImage
//	config := r.Config()
//
// The package promises: a Recipe has no field for a network, a capability, a device, a program or a setting of the
// runtime. All of these are constant here (I1), whatever a request or a profile says.
package bundle
