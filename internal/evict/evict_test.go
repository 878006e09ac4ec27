package evict

import (
	"slices"
	"testing"
	"time"
)

func names(files []File) (all []string) {
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}

func TestAnOwnerPushesOutItsOwn(t *testing.T) {
	at := time.Now()
	files := []File{
		{"calm", "b", 10, at.Add(-time.Hour)},
		{"a1", "a", 10, at.Add(-3 * time.Minute)},
		{"a2", "a", 10, at.Add(-2 * time.Minute)},
		{"a3", "a", 40, at},
	}
	for _, c := range []struct {
		room Bounds
		want []string
	}{
		{Bounds{4, 70}, nil},
		{Bounds{3, 70}, []string{"a1"}},
		{Bounds{2, 70}, []string{"a1", "a2"}},
		{Bounds{4, 55}, []string{"a1", "a2"}},
		{Bounds{4, 5}, []string{"a1", "a2", "a3", "calm"}},
		{Bounds{0, 70}, []string{"a1", "a2", "calm", "a3"}},
	} {
		if got := names(Over(files, c.room)); !slices.Equal(got, c.want) {
			t.Errorf("over %+v are %v, want %v", c.room, got, c.want)
		}
	}
}
