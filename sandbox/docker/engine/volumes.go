package engine

import (
	"context"
	"strings"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
)

// CreateVolume makes a volume, or finds the existing one with the name.
func (c *Client) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	defer c.timed("create-volume")()
	_, err := c.api.VolumeCreate(ctx, volume.CreateOptions{Name: name, Driver: "local", Labels: labels})
	return err
}

// inspectVolume looks at a volume.
func (c *Client) inspectVolume(ctx context.Context, name string) (volume.Volume, error) {
	defer c.timed("inspect-volume")()
	return c.api.VolumeInspect(ctx, name)
}

// ListVolumes returns all volumes with the label.
func (c *Client) ListVolumes(ctx context.Context, label string) ([]*volume.Volume, error) {
	defer c.timed("list-volumes")()
	all, err := c.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", label))})
	return all.Volumes, err
}

// VolumesNamed returns the names of all volumes that begin with the prefix.
func (c *Client) VolumesNamed(ctx context.Context, prefix string) (names []string, err error) {
	defer c.timed("list-volumes")()
	all, err := c.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", prefix))})
	for _, v := range all.Volumes {
		if strings.HasPrefix(v.Name, prefix) {
			names = append(names, v.Name)
		}
	}
	return names, err
}

// RemoveVolume removes a volume that no container uses.
func (c *Client) RemoveVolume(ctx context.Context, name string) error {
	defer c.timed("remove-volume")()
	return c.api.VolumeRemove(ctx, name, false)
}
