package hungfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestItAnswersAndThenHangs(t *testing.T) {
	dir := t.TempDir()
	fs := Mount(t, dir, "a", "b")
	entries, err := os.ReadDir(filepath.Join(dir, "b"))
	if err != nil || len(entries) != Files {
		t.Fatalf("it lists %v, %v", entries, err)
	}
	fs.Hang()
	failed := make(chan error, 1)
	go func() {
		_, err := os.ReadDir(filepath.Join(dir, "a"))
		failed <- err
	}()
	select {
	case <-fs.Waits():
	case <-time.After(time.Minute):
		t.Fatal("nothing reached it")
	}
	select {
	case err := <-failed:
		t.Fatal("it answered:", err)
	default:
	}
	fs.Abort()
	if err := <-failed; err == nil {
		t.Error("a call came through")
	}
}
