// Package image has what sandboxes are made of that lies on the engine.
//
// Stock is an installation's own: the empty image, on which the host's programs are shown, and the volume with sandbox-init. Both are
// named by their content, so that they are made once, and made again where somebody has removed them.
//
// Images are the operator's. What was found out about one is remembered, because an image stays as it is: its VOLUMEs, which a sandbox
// must not get as directories without a bound, and whether links lie on the way to where something of ours is mounted.
//
// What has to be looked at in an image, or written into a volume, goes by way of a helper: a container that never runs.
package image
