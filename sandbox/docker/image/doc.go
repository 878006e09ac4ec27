// Package image keeps the images and volumes on the engine that sandboxes are made from.
//
// Stock holds an installation's own: the empty image, on which the host's programs are shown, and the volume with
// sandbox-init. Both are named by their content. So they are made only once, and made again if somebody has removed
// them.
//
// Images holds the operator's images. It remembers its findings about an image, because an image never changes: its
// VOLUMEs, which a sandbox must not get as unbounded directories, and whether links lie on the way to one of our
// mounts.
//
// To look into an image, or to write into a volume, the package uses a helper: a container that never runs.
package image
