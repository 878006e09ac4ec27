package main

import (
	"fmt"

	"torno/internal/cli"
)

// opened lists the routes that a profile opens through the gateway.
type opened struct {
	Profile string `json:"profile"`
	Ways    []way  `json:"ways"`
}

// way is one route, with its address in the sandbox and its upstream.
type way struct {
	At       string `json:"at"`
	Route    string `json:"route"`
	Upstream string `json:"upstream"`
}

// doors returns the opened routes of each profile with a door.
func (c *checked) doors() []opened {
	all := []opened{}
	for _, p := range c.profiles {
		if p.Door == nil {
			continue
		}
		o := opened{Profile: p.Name}
		for _, w := range p.Door.Routes {
			if r := c.config.Gateway.Route(w.Name); r != nil {
				o.Ways = append(o.Ways, way{fmt.Sprintf("http://127.0.0.1:%d%s%s", p.Door.Port, w.Prefix, r.Prefix), w.Name, r.Upstream.String()})
			}
		}
		all = append(all, o)
	}
	return all
}

func (o opened) rows() (rows [][]cli.Cell) {
	for _, w := range o.Ways {
		rows = append(rows, cli.Row(w.At, w.Route, w.Upstream))
	}
	return rows
}
