package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"torno/internal/cli"
	"torno/internal/control"
)

// listPools lists the sandboxes that were made ahead of runs. Only a running watcher has any.
func (a *app) listPools(ctx context.Context, s control.Service) error {
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		for _, pool := range status.Pools {
			if err := a.Out.Object(pool); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]cli.Cell{cli.Head("LAUNCHER", "OUTBOX", "PROFILE", "AT", "READY", "MEMORY", "USED", "MISSED", "OLDEST")}
	for _, pool := range status.Pools {
		for _, shelf := range pool.Shelves {
			rows = append(rows, shelfRow(pool.Launcher, shelf))
		}
	}
	if len(rows) > 1 {
		a.Out.Table("", rows)
	}
	a.sayPools(status.Pools)
	return nil
}

func shelfRow(launcher string, s control.Shelf) []cli.Cell {
	ready := cli.Cell{Text: fmt.Sprintf("%d of %d", s.Ready, s.Wanted), Colour: cli.Green}
	if s.Ready < s.Wanted {
		ready.Colour = cli.Dim
	}
	row := cli.Row(launcher, cli.OneLine(s.Outbox), cli.OneLine(s.Profile), cli.OneLine(strings.Join(s.Prefixes, " ")))
	row = append(row, ready)
	return append(row, cli.Row(fmt.Sprintf("%.1f MiB", float64(s.Memory)/(1<<20)), fmt.Sprint(s.Used), fmt.Sprint(s.Missed), cli.Age(s.Oldest.Round(time.Second)))...)
}

// sayPools tells the operator why fewer sandboxes are made ahead than there could be.
func (a *app) sayPools(pools []control.Pool) {
	for _, pool := range pools {
		if pool.Off != "" {
			a.Say("%s makes no sandboxes ahead: %s", pool.Launcher, cli.OneLine(pool.Off))
		} else if len(pool.Shelves) == 0 {
			a.Say("%s has no sandboxes ready; after the next request that can use one, the watcher makes some", pool.Launcher)
		}
		for _, shelf := range pool.Shelves {
			if shelf.Trouble != "" {
				a.Say("outbox %s, profile %s: %s", cli.OneLine(shelf.Outbox), cli.OneLine(shelf.Profile), cli.OneLine(shelf.Trouble))
			}
		}
	}
}
