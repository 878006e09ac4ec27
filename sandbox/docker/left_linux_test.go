package docker_test

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// left is what an installation has on the engine.
type left struct{ containers, volumes, images []string }

func (l left) empty() bool { return len(l.containers)+len(l.volumes)+len(l.images) == 0 }

// labelled asks for it by the label, without our own code.
func (f *field) labelled(api *client.Client, installation string) (found left) {
	f.Helper()
	label := filters.NewArgs(filters.Arg("label", "torno.installation="+installation))
	containers, err := api.ContainerList(f.ctx, container.ListOptions{All: true, Filters: label})
	f.must(err)
	for _, c := range containers {
		found.containers = append(found.containers, strings.Join(c.Names, " "))
	}
	volumes, err := api.VolumeList(f.ctx, volume.ListOptions{Filters: label})
	f.must(err)
	for _, v := range volumes.Volumes {
		found.volumes = append(found.volumes, v.Name)
	}
	images, err := api.ImageList(f.ctx, image.ListOptions{Filters: label})
	f.must(err)
	for _, i := range images {
		found.images = append(found.images, i.ID)
	}
	slices.Sort(found.containers)
	return found
}
