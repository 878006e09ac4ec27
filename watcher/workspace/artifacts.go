package workspace

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// Limits for artifacts.
const (
	MaxArtifacts  = 100
	artifactBytes = 64 << 20 // bytes that are read for digests
	// stampGrain is how far a file's time may lie behind the clock when the file system sets it.
	stampGrain = 20 * time.Millisecond
)

// ArtifactsOf returns the files that a run has made or changed since the given time and that match its profile's
// patterns. Without patterns it returns none.
func ArtifactsOf(ctx context.Context, dir Directory, bounds tree.Bounds, patterns []string, since time.Time) (all []delegation.Artifact, warnings []string) {
	if len(patterns) == 0 {
		return nil, nil
	}
	found, err := dir.Artifacts(ctx, bounds, tree.Want{Patterns: patterns, Since: since.Add(-stampGrain), Number: MaxArtifacts, Bytes: artifactBytes})
	if err != nil || !found.Whole() {
		warnings = append(warnings, "Only a part of the workspace was searched for artifacts.")
	}
	if found.Left > 0 {
		warnings = append(warnings, fmt.Sprintf("%d artifacts are not named: there are too many, their names cannot be shown, or they are not the child's own files.", found.Left))
	}
	for _, f := range found.Files {
		all = append(all, delegation.Artifact{Path: f.Path, Size: f.Size, SHA256: f.SHA256, Type: mediaType(f.Path)})
	}
	return all, warnings
}

// types maps the ends of file names to media types. The content may still be anything.
var types = map[string]string{
	".css": "text/css", ".csv": "text/csv", ".diff": "text/x-diff", ".gif": "image/gif", ".gz": "application/gzip", ".htm": "text/html",
	".html": "text/html", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json",
	".jsonl": "application/jsonl", ".log": "text/plain", ".md": "text/markdown", ".patch": "text/x-diff", ".pdf": "application/pdf",
	".png": "image/png", ".svg": "image/svg+xml", ".tar": "application/x-tar", ".txt": "text/plain", ".webp": "image/webp",
	".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip",
}

func mediaType(name string) string {
	if known, ok := types[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return "application/octet-stream"
}
