package sandbox

import (
	"cmp"
	"errors"
)

// Shape holds the parts of a Spec that a sandbox must have from the start and cannot get later. Two runs whose Specs
// have the same shape can run in the same kind of sandbox. The rest may differ between the runs (mounts, program,
// environment, files and time): it arrives while init holds.
type Shape struct {
	Profile string  `json:"profile"`
	RootFS  RootFS  `json:"rootfs"`
	Limits  Limits  `json:"limits"`
	Stdin   bool    `json:"stdin,omitempty"`
	Lasting bool    `json:"lasting,omitempty"`
	Places  []Place `json:"places"` // in the order of the mounts that name them
	// Sockets lists the places where sockets will arrive, including the gateway's door. The run brings the sockets
	// themselves, and the ports that lead to them.
	Sockets []Socket `json:"sockets,omitempty"`
}

// Place is a path prefix in a sandbox; mounts arrive below it.
type Place struct {
	Prefix string `json:"prefix"`
	// At: something arrives at the prefix itself: the workspace, a context, or the Programs, whose host path is given.
	// Anything but Programs is expected to be a directory.
	At        bool   `json:"at,omitempty"`
	Programs  string `json:"programs,omitempty"`
	Workspace bool   `json:"workspace,omitempty"` // the workspace arrives here, at the prefix or below it
}

// ErrShapeImage is the reason why a sandbox with an image cannot be made ahead of a run.
var ErrShapeImage = errors.New("its root file system is an image, which may have changed by the time that the sandbox is used")

// ShapeOf returns the shape of a Spec. The error explains why a sandbox for it cannot be made ahead.
func ShapeOf(s Spec) (Shape, error) {
	if !s.RootFS.Host {
		return Shape{}, ErrShapeImage
	}
	shape := Shape{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Stdin: s.Process.Stdin, Lasting: s.Process.Lasting}
	for _, m := range s.Mounts {
		place := Place{Prefix: m.Prefix, At: m.Target == m.Prefix, Workspace: m.Workspace}
		if place.At && m.Programs {
			place.Programs = m.Source.Base
		}
		shape.add(place)
	}
	shape.Sockets = s.socketPlaces()
	return shape, nil
}

// socketPlaces returns the places where sockets arrive: the profile's first, then the door's. The door's socket comes
// later, once the gateway has opened a door.
func (s Spec) socketPlaces() (all []Socket) {
	open := false
	for _, socket := range s.Sockets {
		all = append(all, Socket{Target: socket.Target, Lasting: socket.Lasting})
		open = open || socket.Target == DoorSocket
	}
	if s.Door != nil && !open {
		all = append(all, Socket{Target: DoorSocket, Lasting: true})
	}
	return all
}

func (s *Shape) add(place Place) {
	for i := range s.Places {
		if s.Places[i].Prefix == place.Prefix {
			s.Places[i].At, s.Places[i].Workspace = s.Places[i].At || place.At, s.Places[i].Workspace || place.Workspace
			s.Places[i].Programs = cmp.Or(s.Places[i].Programs, place.Programs)
			return
		}
	}
	s.Places = append(s.Places, place)
}

// Spec returns a Spec of this shape. Its mounts and sockets only tell where they will arrive: they have no source.
func (s Shape) Spec() Spec {
	spec := Spec{Profile: s.Profile, RootFS: s.RootFS, Limits: s.Limits, Process: Process{Stdin: s.Stdin, Lasting: s.Lasting}, Sockets: s.Sockets}
	for _, place := range s.Places {
		m := Mount{Target: place.Prefix + "/-", Prefix: place.Prefix, Workspace: place.Workspace}
		if place.At {
			m.Target = place.Prefix
		}
		if place.Programs != "" {
			m.Programs, m.Source = true, Source{Base: place.Programs, Rel: "."}
		}
		spec.Mounts = append(spec.Mounts, m)
	}
	return spec
}
