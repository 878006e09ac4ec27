package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// InspectImage looks at an image.
func (c *Client) InspectImage(ctx context.Context, ref string) (image.InspectResponse, error) {
	defer c.timed("inspect-image")()
	return c.api.ImageInspect(ctx, ref)
}

// ImportImage makes an image from a tar.
func (c *Client) ImportImage(ctx context.Context, ref string, tar io.Reader, changes ...string) error {
	defer c.timed("import-image")()
	body, err := c.api.ImageImport(ctx, image.ImportSource{Source: tar, SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		return err
	}
	return drain(body)
}

// PullImage fetches an image from its registry.
func (c *Client) PullImage(ctx context.Context, ref string) error {
	defer c.timed("pull-image")()
	body, err := c.api.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return err
	}
	return drain(body)
}

// ListImages returns all images with the label.
func (c *Client) ListImages(ctx context.Context, label string) ([]image.Summary, error) {
	defer c.timed("list-images")()
	return c.api.ImageList(ctx, image.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
}

// RemoveImage removes an image, even if containers were made from it.
func (c *Client) RemoveImage(ctx context.Context, ref string) error {
	defer c.timed("remove-image")()
	_, err := c.api.ImageRemove(ctx, ref, image.RemoveOptions{Force: true})
	return err
}

// drain reads the engine's progress report to its end, and returns the failure that it may report.
func drain(body io.ReadCloser) error {
	defer body.Close()
	decoder := json.NewDecoder(body)
	for {
		var message struct {
			Error string `json:"error"`
		}
		err := decoder.Decode(&message)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the engine's progress: %w", err)
		case message.Error != "":
			return errors.New(strings.TrimSpace(message.Error))
		}
	}
}
